import type { ListenAddress } from '../../config/index.ts'
import type { Component } from '../../loop/component.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import type { HostPattern, RoutingChange, RoutingTable } from '../../model/routing-table.ts'

/** Part of a table that a driver cannot serve; the rest of the table is in force. */
export interface RoutingRefusal {
  readonly kind: 'Ingress' | 'Secret'
  readonly key: ObjectKey
  /** A sentence without the object's name. */
  readonly reason: string
}

/**
 * Serves requests by a routing table, and listens from the first one on. Nothing rejects where an address cannot be listened on: the driver tries again
 * and its health says so, because the agent has other work.
 */
export interface IngressDriver extends Component {
  readonly kind: 'haproxy' | 'in-process'
  /** True once it has a table, or where the proxy of an earlier agent still serves. */
  readonly isServing: boolean
  /**
   * Makes the table what requests meet, and resolves when new requests meet it. `change` is what differs from the table of the last call that
   * resolved. Rejects where nothing could be changed; the caller tries again with all that differs then.
   */
  apply(table: RoutingTable, change: RoutingChange): Promise<readonly RoutingRefusal[]>
}

export interface IngressLimits {
  /** Request line and headers together. */
  readonly maxHeaderBytes: number
  /** Connections of clients at once. */
  readonly maxConnections: number
  /** Connections of one client address at once; 0 for no limit. */
  readonly connectionsPerClient: number
  /** Requests of one client address in one second; 0 for no limit. */
  readonly requestsPerClient: number
  /** 0 for no limit. */
  readonly maxBodyBytes: number
  /** From the first byte of a connection or request to the end of the headers. */
  readonly headerTimeoutMs: number
  /** Between two requests of one connection, and between two parts of a request's body. */
  readonly idleTimeoutMs: number
  /** Until a backend begins to answer, and between two parts of its answer. */
  readonly backendTimeoutMs: number
}

export interface IngressSettings {
  readonly httpAddresses: readonly ListenAddress[]
  readonly httpsAddresses: readonly ListenAddress[]
  readonly limits: IngressLimits
}

/** A request that was answered, for metrics and the access log. */
export interface ServedRequest {
  readonly client: string
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2.0'
  readonly isTls: boolean
  readonly method: string
  /** The host that the request names, in lower case. */
  readonly host: string
  /** Without the query, which may hold secrets. */
  readonly path: string
  readonly status: number
  /** From the headers of the request to the end of the answer. */
  readonly durationMs: number
  readonly requestId: string
  /** The chosen host pattern; absent where no Ingress answers. */
  readonly pattern?: HostPattern
  readonly ingress?: ObjectKey
  readonly service?: ObjectKey
  /** `ip:port` of the endpoint that was asked last. */
  readonly endpoint?: string
  /** The reason of an answer that this node made itself. */
  readonly fault?: string
}
