import type { Ip } from '../../../model/ip.ts'
import type { HostPattern } from '../../../model/routing-table.ts'
import type { HostEntries } from './map-entries.ts'

/** A server of haproxy. One that is not up keeps its last address and takes no requests. */
export interface Server {
  readonly name: string
  readonly ip: Ip
  readonly port: number
  readonly isUp: boolean
}

/** A backend of haproxy. Its name says its profile (`profile.ts`). */
export interface HeldProxy {
  /** `Backend.id`; absent for a spare one. */
  readonly backend?: string
  readonly servers: readonly Server[]
}

/** A certificate in the list of the listeners. */
export interface ListedCertificate {
  /** Sorted; the names by which clients ask for it. */
  readonly hosts: readonly HostPattern[]
}

/** The part of haproxy that changes with the routing table: read from the process, or made from a table to be written as files. */
export interface Holding {
  /** Keys are proxy names; spare ones included. */
  readonly proxies: ReadonlyMap<string, HeldProxy>
  /** HeldProxy names by `Backend.id`. */
  readonly places: ReadonlyMap<string, string>
  readonly routes: ReadonlyMap<HostPattern, HostEntries>
  /** Keys are file names. */
  readonly certificates: ReadonlyMap<string, ListedCertificate>
  /** SHA-1 fingerprint of the default certificate, which haproxy shows; absent if there is none. */
  readonly defaultCertificate?: string
  /** The maps do not agree, as after an interrupted change: they have to be written anew. */
  readonly hasBrokenMaps?: true
}
