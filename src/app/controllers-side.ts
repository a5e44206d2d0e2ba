import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { ApiClient, loadKubeconfig } from '../client/index.ts'
import { createControllerManager, createControllerMetrics } from '../controllers/index.ts'
import type { Component, Health } from '../loop/component.ts'
import { loopbackIpv4 } from '../model/ip.ts'
import type { Logger } from '../observe/index.ts'
import { createComponentEndpoints, httpListener } from '../serve/index.ts'
import { findAdvertiseAddress } from './advertise-address.ts'
import { ClusterConnection } from './cluster-connection.ts'
import { dataPaths } from './cluster-files.ts'
import type { AppContext } from './context.ts'

/** The controller manager with its endpoints: a client of the API server that runs beside it, by the kubeconfig that one wrote. */
export class ControllersSide implements Component {
  readonly name = 'controllers'
  readonly #context: AppContext
  readonly #log: Logger
  #parts: readonly Component[] = []

  constructor(context: AppContext) {
    this.#context = context
    this.#log = context.logging.logger('platform_controller_manager')
  }

  async start(scope: { signal: AbortSignal }): Promise<void> {
    const connection = await this.#connect()
    this.#parts = [connection, ...this.#listeners(connection)]
    for (const part of this.#parts) await part.start(scope)
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.stop(scope)))
    this.#parts = []
  }

  health(): Health {
    return this.#parts[0]?.health() ?? { level: 'unknown', message: 'not started', sinceMs: 0 }
  }

  async #connect(): Promise<ClusterConnection> {
    const { app, controllers } = this.#context.options.values
    const client = new ApiClient(await loadKubeconfig(dataPaths(app.dataDir).controllersKubeconfig))
    const metrics = createControllerMetrics(this.#context.metrics)
    const identity = controllers.leaderElect ? { identity: `${hostname()}_${randomUUID()}` } : {}
    const log = this.#log
    return new ClusterConnection({
      client,
      createSources: (dialect) => [
        createControllerManager({ client, dialect, controllers: controllers.controllers, ...identity, metrics, log }),
      ],
      log,
    })
  }

  /** On the addresses that are meant, never on all: what stands there is for this machine and its neighbours. */
  #listeners(connection: Component): readonly Component[] {
    const { api, controllers } = this.#context.options.values
    const log = this.#log.child('endpoints')
    const handler = createComponentEndpoints({ metrics: this.#context.metrics, components: () => [connection], log })
    const addresses = new Set([loopbackIpv4, findAdvertiseAddress(api.bindAddress) ?? loopbackIpv4])
    return Array.from(addresses, (address) =>
      httpListener({ name: 'controller-endpoints', handler, log, address, port: controllers.controllerManagerPort }),
    )
  }
}
