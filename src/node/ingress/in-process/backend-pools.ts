import { type Dispatcher, Pool } from 'undici'
import type { Backend, BackendEndpoint } from '../../../model/routing-table.ts'
import { endpointName } from './balancer.ts'

const connectTimeoutMs = 5_000
/** An answer with larger headers counts as a fault of the backend. */
const maxAnswerHeaderBytes = 64 * 1024
const connectionsPerEndpoint = 256
/** HTTP/2 connections carry many requests each. */
const h2ConnectionsPerEndpoint = 4

/** Connections to endpoints, kept for later requests. */
export class BackendPools {
  readonly #backendTimeoutMs: number
  readonly #pools = new Map<string, Dispatcher>()

  constructor({ backendTimeoutMs }: { readonly backendTimeoutMs: number }) {
    this.#backendTimeoutMs = backendTimeoutMs
  }

  poolOf({ protocol }: Pick<Backend, 'protocol'>, endpoint: BackendEndpoint): Dispatcher {
    const key = poolKey(protocol, endpoint)
    const pool = this.#pools.get(key) ?? this.#open(protocol, endpoint)
    this.#pools.set(key, pool)
    return pool
  }

  /** Closes connections to endpoints that no backend has any more, once their requests are answered. */
  keepOnly(backends: Iterable<Backend>): void {
    const wanted = new Set<string>()
    for (const { protocol, endpoints } of backends)
      for (const endpoint of endpoints) wanted.add(poolKey(protocol, endpoint))
    for (const [key, pool] of this.#pools) {
      if (wanted.has(key)) continue
      this.#pools.delete(key)
      void pool.close().catch(() => {})
    }
  }

  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map((pool) => pool.destroy()))
  }

  #open(protocol: Backend['protocol'], endpoint: BackendEndpoint): Dispatcher {
    const isH2 = protocol === 'h2c'
    return new Pool(`http://${endpointName(endpoint)}`, {
      connections: isH2 ? h2ConnectionsPerEndpoint : connectionsPerEndpoint,
      connect: { timeout: connectTimeoutMs },
      headersTimeout: this.#backendTimeoutMs,
      bodyTimeout: this.#backendTimeoutMs,
      maxHeaderSize: maxAnswerHeaderBytes,
      ...(isH2 ? { allowH2: true, useH2c: true, pipelining: 100 } : { pipelining: 1 }),
    })
  }
}

function poolKey(protocol: Backend['protocol'], endpoint: BackendEndpoint): string {
  return `${protocol} ${endpointName(endpoint)}`
}
