import { lookup } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClusterAccess } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import { parseIp } from '../../model/ip.ts'
import { claimKey } from '../../node/proxy/index.ts'
import type { Logger } from '../../observe/index.ts'

/** Time limit of one lookup: a name that no server answers must not delay the start of the agent. */
const patienceMs = 1000
const intervalMs = 60_000

interface ApiServerNamesParts {
  readonly access: Pick<ClusterAccess, 'server' | 'otherServers'>
  readonly log: Logger
  /** Returns the addresses of a host; none where it has none now. */
  readonly resolve?: (host: string) => Promise<readonly string[]>
  readonly intervalMs?: number
}

/**
 * The addresses of this agent's API servers. Names are looked up again each minute, since a load balancer or a server that moves changes what
 * they mean; a name without an answer keeps its last addresses.
 */
export class ApiServerNames implements Component {
  readonly name = 'api-server-names'
  readonly #servers: readonly Server[]
  readonly #resolve: (host: string) => Promise<readonly string[]>
  readonly #found = new Map<Server, readonly string[]>()
  readonly #periodic: Periodic
  #onChange: (keys: ReadonlySet<string>) => void = () => {}

  constructor({ access, log, resolve = lookUp, ...parts }: ApiServerNamesParts) {
    this.#servers = [access.server, ...(access.otherServers ?? [])].map(parseServer)
    this.#resolve = resolve
    this.#periodic = new Periodic(() => this.#lookAgain(), {
      intervalMs: parts.intervalMs ?? intervalMs,
      onError: (error) => log.warn('the names of the API servers were not looked up', { error }),
    })
  }

  /** The addresses as keys of `claimKey`; none of a name that never had an answer. */
  get keys(): ReadonlySet<string> {
    return new Set([...this.#found.values()].flat())
  }

  /** Looks every name up once, for a second at most. */
  async look(): Promise<void> {
    await Promise.all(this.#servers.map((server) => this.#lookAt(server)))
  }

  onChange(listener: (keys: ReadonlySet<string>) => void): void {
    this.#onChange = listener
  }

  async start(): Promise<void> {
    if (this.#servers.some(({ host }) => parseIp(host) === undefined)) this.#periodic.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#periodic.stop(scope)
  }

  health(): Health {
    return { level: 'ok', message: `${this.keys.size} addresses of API servers`, sinceMs: 0 }
  }

  async #lookAgain(): Promise<void> {
    const before = this.keys
    await this.look()
    const { keys } = this
    if (keys.symmetricDifference(before).size > 0) this.#onChange(keys)
  }

  async #lookAt(server: Server): Promise<void> {
    const { host, port } = server
    const addresses = parseIp(host) === undefined ? await this.#resolve(host) : [host]
    const keys = addresses.flatMap((address) => {
      const ip = parseIp(address)
      return ip === undefined ? [] : [claimKey(ip, 'TCP', port)]
    })
    if (keys.length > 0) this.#found.set(server, keys)
  }
}

interface Server {
  readonly host: string
  readonly port: number
}

function parseServer(server: string): Server {
  const { hostname, port, protocol } = new URL(server)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || (protocol === 'http:' ? 80 : 443)) }
}

async function lookUp(host: string): Promise<readonly string[]> {
  const found = lookup(host, { all: true }).then((all) => all.map(({ address }) => address))
  return Promise.race([found.catch(() => []), sleep(patienceMs, [], { ref: false })])
}
