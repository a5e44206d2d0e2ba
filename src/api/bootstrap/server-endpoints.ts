import { Periodic } from '../../loop/periodic.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { Ip } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import type { VerbContext } from '../verbs/verb-context.ts'
import { advertise } from './advertise.ts'
import { LiveServers } from './live-servers.ts'

const intervalMs = 10_000

export interface ServerEndpointsOptions {
  readonly context: VerbContext
  readonly dialect: Dialect
  /** The address of this server when it starts, and the port of every server. */
  readonly address: Ip
  readonly securePort: number
  readonly log: Logger
}

/** Keeps the addresses of all servers of the cluster that live in the endpoints of the kubernetes Service. */
export class ServerEndpoints {
  readonly #options: ServerEndpointsOptions
  #servers: LiveServers
  readonly #renewal: Periodic

  constructor(options: ServerEndpointsOptions) {
    this.#options = options
    this.#servers = new LiveServers(options.context.store, options.address)
    this.#renewal = new Periodic(() => this.#renew(), {
      intervalMs,
      onError: (error) => options.log.warn('the endpoints of the kubernetes Service were not renewed', { error }),
    })
  }

  async start(): Promise<void> {
    await this.#renew()
    this.#renewal.start()
  }

  /** Puts another address of this server in place of the one that it had. */
  async move(address: Ip): Promise<void> {
    await this.#servers.leave()
    this.#servers = new LiveServers(this.#options.context.store, address)
    await this.#renew()
  }

  /** Leaves the endpoints to the other servers. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#renewal.stop(scope)
    try {
      await this.#advertise(await this.#servers.leave())
    } catch (error) {
      this.#options.log.info('this server did not leave the kubernetes Service; the others remove it', { error })
    }
  }

  async #renew(): Promise<void> {
    await this.#advertise(await this.#servers.renew(this.#options.context.now()))
  }

  #advertise(addresses: readonly Ip[]): Promise<void> {
    const { context, dialect, securePort } = this.#options
    return advertise(context, { dialect, securePort, addresses })
  }
}
