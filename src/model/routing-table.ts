import type { ObjectKey } from './api-object.ts'
import type { Ip } from './ip.ts'

/** `''` for any host, `shop.example.com`, or `*.example.com` for exactly one label before it; in lower case, without port and last dot. */
export type HostPattern = string

/** Holds the routes of all Ingresses with the endpoints of now (spec 2.9): all that a driver needs to serve requests. */
export interface RoutingTable {
  readonly hosts: ReadonlyMap<HostPattern, HostRoutes>
  /** Keys are `Backend.id`. */
  readonly backends: ReadonlyMap<string, Backend>
  readonly certificates: readonly ServedCertificate[]
}

/** The routes of one host pattern. A request that chose this pattern meets no routes of another, but for the fallback of `''`. */
export interface HostRoutes {
  /** Keys are whole paths, byte for byte. */
  readonly exact: ReadonlyMap<string, Route>
  /** Keys are paths without their last slash, so `''` stands for `/`. A prefix ends where an element of the path ends. */
  readonly prefix: ReadonlyMap<string, Route>
  /** The length of the longest key of `prefix`. */
  readonly longestPrefix: number
  /** For requests that match no path; of `''` for requests that match nothing at all. */
  readonly fallback?: Route
}

export interface Route {
  readonly ingress: ObjectKey
  /** `Backend.id`. */
  readonly backend: string
  /** The path of the Ingress, unchanged; `''` for a default backend. */
  readonly path: string
  readonly kind: 'exact' | 'prefix' | 'default'
}

/** One port of a Service with the settings under which Ingresses use it. */
export interface Backend {
  /** Made of namespace, Service, port and settings: lower-case letters, digits, `_`, `-` and `.`, at most 63 characters. */
  readonly id: string
  readonly service: ObjectKey
  /** The port's number or name, as Ingresses have it. */
  readonly port: string
  /** Sorted by address and port. A backend without endpoints answers 503. */
  readonly endpoints: readonly BackendEndpoint[]
  readonly balance: 'round-robin' | 'least-connections'
  /** Absent: any endpoint takes any request. */
  readonly stickiness?: { readonly cookie: string }
  readonly protocol: 'http1' | 'h2c'
  /** The reason in a sentence why no endpoint can be found, where it lies in Ingress or Service. */
  readonly problem?: string
}

export interface BackendEndpoint {
  readonly ip: Ip
  readonly port: number
}

/** A certificate that is valid now, with its key: neither chain nor key may stand in a log. */
export interface ServedCertificate {
  readonly secret: ObjectKey
  /** Names by which clients ask for it (SNI). Empty: the default certificate. */
  readonly hosts: readonly HostPattern[]
  /** SHA-256 of chain and key: equal certificates have equal fingerprints. */
  readonly fingerprint: string
  readonly chainPem: string
  readonly keyPem: string
  /** Milliseconds since 1970. */
  readonly notAfterMs: number
}

/** The parts in which a table differs from the one before: changed, new and removed. */
export interface RoutingChange {
  readonly hosts: ReadonlySet<HostPattern>
  /** Keys are `Backend.id`. */
  readonly backends: ReadonlySet<string>
  readonly certificates: boolean
}
