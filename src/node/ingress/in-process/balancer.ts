import { createHash } from 'node:crypto'
import type { Backend, BackendEndpoint } from '../../../model/routing-table.ts'

/** Chooses the endpoint of each request; counts what is under way. */
export class Balancer {
  /** The next turn, by `Backend.id`. */
  readonly #turns = new Map<string, number>()
  /** Requests under way, by `endpointName`. */
  readonly #underway = new Map<string, number>()

  /**
   * The endpoint for a request: that of the cookie where stickiness asks for it, else by `balance`. `tried` are the names of endpoints that were
   * not reachable; undefined where none is left.
   */
  choose(backend: Backend, cookie: string | undefined, tried: ReadonlySet<string>): BackendEndpoint | undefined {
    const left = backend.endpoints.filter((endpoint) => !tried.has(endpointName(endpoint)))
    const stuck = cookie === undefined ? undefined : left.find((endpoint) => stickyValue(endpoint) === cookie)
    if (stuck !== undefined || left.length === 0) return stuck
    const turn = this.#turns.get(backend.id) ?? 0
    this.#turns.set(backend.id, turn + 1)
    const inTurn = left.map((_, index) => left[(turn + index) % left.length]).filter((each) => each !== undefined)
    if (backend.balance === 'round-robin') return inTurn[0]
    return inTurn.reduce((least, each) => (this.#countOf(each) < this.#countOf(least) ? each : least))
  }

  /** Counts a request until the returned function is called. */
  begin(endpoint: BackendEndpoint): () => void {
    const name = endpointName(endpoint)
    this.#underway.set(name, (this.#underway.get(name) ?? 0) + 1)
    let hasEnded = false
    return () => {
      if (hasEnded) return
      hasEnded = true
      const count = (this.#underway.get(name) ?? 1) - 1
      if (count === 0) this.#underway.delete(name)
      else this.#underway.set(name, count)
    }
  }

  /** Forgets the turns of backends that are gone. */
  keepOnly(backends: ReadonlyMap<string, Backend>): void {
    for (const id of this.#turns.keys()) if (!backends.has(id)) this.#turns.delete(id)
  }

  #countOf(endpoint: BackendEndpoint): number {
    return this.#underway.get(endpointName(endpoint)) ?? 0
  }
}

/** `192.0.2.1:8080`, `[2001:db8::1]:8080`. */
export function endpointName({ ip, port }: BackendEndpoint): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}

/** The value of the cookie that keeps a client with an endpoint; does not show the address. */
export function stickyValue(endpoint: BackendEndpoint): string {
  return createHash('sha256').update(endpointName(endpoint)).digest('hex').slice(0, 16)
}
