import type { Ip } from '../../../model/ip.ts'

export type Transport = 'udp' | 'tcp'

/** The sources whose queries are answered on an address: all, or only the cluster's (its networks, nodes and Pods). */
type Access = 'all' | 'cluster'

/** One address and port on which every serving thread listens, over UDP and TCP. */
export interface ListenAddress {
  readonly address: Ip
  readonly port: number
  readonly access: Access
  /** Indices of the server blocks that are served there. */
  readonly blocks: readonly number[]
  /** The zones whose names no upstream answers; undefined where none is asked for any name. Only a hint, by which the kernel chooses a thread. */
  readonly memoryZones?: readonly Uint8Array[] | undefined
}

/** The sockets of one listen address. They outlive configurations, so the address is what is configured now. */
export interface Listener {
  current: ListenAddress
}

/** The source of a query, and the listener that received it. */
export interface Client {
  readonly address: string
  readonly port: number
  readonly transport: Transport
  readonly listener: Listener
}
