import type { ObjectKey } from './api-object.ts'
import type { Backend, HostPattern, Route } from './routing-table.ts'

/** An Ingress in the form that this node uses: parsed once at the edge, defaults applied (spec 2.9). */
export interface Ingress {
  readonly key: ObjectKey
  readonly namespace: string
  readonly name: string
  /** For Events about it. */
  readonly uid?: string
  /** Milliseconds since 1970. Of two Ingresses that ask for one host and path the older is served; absent counts as youngest. */
  readonly createdAtMs?: number
  /** The name of its IngressClass, from the field or the annotation that was before it. Absent: no controller serves it. */
  readonly className?: string
  /** For requests that match none of its rules. */
  readonly defaultBackend?: IngressBackend
  readonly rules: readonly IngressRule[]
  readonly tls: readonly IngressTls[]
  readonly settings: IngressSettings
}

/** Settings of all backends of an Ingress, from its annotations. */
export type IngressSettings = Pick<Backend, 'balance' | 'stickiness'>

export interface IngressRule {
  readonly host: HostPattern
  /** Empty: all requests for the host go to the default backend. */
  readonly paths: readonly IngressPath[]
}

export interface IngressPath {
  /** Begins with `/`; printable ASCII without `?` and `#`. */
  readonly path: string
  /** `ImplementationSpecific` is a prefix. */
  readonly kind: Exclude<Route['kind'], 'default'>
  readonly backend: IngressBackend
  /** Where it stands: `spec.rules[0].http.paths[1]`. */
  readonly field: string
}

export type IngressBackend =
  | { readonly kind: 'service'; readonly service: string; readonly port: string }
  /** A backend that `cannot be read` or served. It keeps its path, which answers 503: a shorter path must not take its requests. */
  | { readonly kind: 'none'; readonly why: string }

export interface IngressTls {
  /** Empty: the names in the certificate. */
  readonly hosts: readonly HostPattern[]
  /** A Secret of the Ingress's namespace. Absent: the default certificate. */
  readonly secret?: ObjectKey
  /** Where it stands: `spec.tls[0]`. */
  readonly field: string
}

export interface IngressClass {
  readonly name: string
  /** The controller that serves Ingresses of this class: `example.com/ingress`. */
  readonly controller: string
}

/** The certificate and key of a Secret, checked to belong together. Neither chain nor key may stand in a log. */
export interface TlsSecret {
  readonly key: ObjectKey
  /** SHA-256 of chain and key in hexadecimal digits. */
  readonly fingerprint: string
  /** The server's certificate first, then each one's issuer. */
  readonly chainPem: string
  /** PKCS #8 */
  readonly keyPem: string
  readonly keyKind: 'RSA' | 'ECDSA'
  /** The names for which the certificate is valid, as host patterns. */
  readonly names: readonly HostPattern[]
  /** Milliseconds since 1970. */
  readonly notBeforeMs: number
  /** Milliseconds since 1970. */
  readonly notAfterMs: number
}
