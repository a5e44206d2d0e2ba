import { ApiClient, createRequestObserver, loadKubeconfig } from '../../client/index.ts'
import {
  type ControllerManagerParts,
  type ControllerMetrics,
  createControllerManager,
  createControllerMetrics,
  createSchedulerManager,
} from '../../controllers/index.ts'
import { isGone, nameProcess } from '../../host/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { loopbackIpv4 } from '../../model/ip.ts'
import { createMetrics, type Logger } from '../../observe/index.ts'
import { createComponentEndpoints, httpListener } from '../../serve/index.ts'
import type { AppContext } from '../context.ts'
import { findAdvertiseAddress } from './advertise-address.ts'
import { ClusterConnection } from './cluster-connection.ts'
import { dataPaths, requestSigner } from './cluster-files.ts'
import { componentAccess, tellTrouble } from './delegated-access.ts'

interface ManagerRole {
  readonly name: string
  readonly logTarget: string
  readonly kubeconfig: keyof ReturnType<typeof dataPaths>
  readonly port: (options: AppContext['options']['values']) => number
  readonly portOption: string
  readonly create: (parts: ControllerManagerParts) => Component
}

const roles = {
  controllers: {
    name: 'controllers',
    logTarget: 'platform_controller_manager',
    kubeconfig: 'controllersKubeconfig',
    port: ({ controllers }) => controllers.controllerManagerPort,
    portOption: '--controller-manager-port',
    create: createControllerManager,
  },
  scheduler: {
    name: 'scheduler',
    logTarget: 'platform_scheduler',
    kubeconfig: 'schedulerKubeconfig',
    port: ({ controllers }) => controllers.schedulerPort,
    portOption: '--scheduler-port',
    create: createSchedulerManager,
  },
} as const satisfies Record<string, ManagerRole>

/**
 * Composes the controller manager or the scheduler with its HTTP endpoints. Each is a client of the API server beside it and uses the
 * kubeconfig that the server wrote.
 */
export class ControllersSide implements Component {
  readonly name: string
  readonly #role: ManagerRole
  readonly #context: AppContext
  /** The metrics of this component alone: each port answers those of its own component. */
  readonly #metrics = createMetrics()
  readonly #controllerMetrics: ControllerMetrics
  readonly #log: Logger
  #parts: readonly Component[] = []

  constructor(role: keyof typeof roles, context: AppContext) {
    this.name = role
    this.#role = roles[role]
    this.#context = context
    this.#controllerMetrics = createControllerMetrics(this.#metrics)
    this.#log = context.logging.logger(this.#role.logTarget)
  }

  async start(scope: { signal: AbortSignal }): Promise<void> {
    const { app } = this.#context.options.values
    const access = await loadKubeconfig(dataPaths(app.dataDir)[this.#role.kubeconfig])
    const client = new ApiClient(access, { observe: createRequestObserver(this.#metrics) })
    const connection = this.#connect(client, access.certificateAuthority ?? '')
    this.#parts = [connection, ...this.#listeners(connection, client)]
    for (const part of this.#parts) await part.start(scope)
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.stop(scope)))
    this.#parts = []
  }

  health(): Health {
    return this.#parts[0]?.health() ?? { level: 'unknown', message: 'not started', sinceMs: 0 }
  }

  #connect(client: ApiClient, rootCaPem: string): ClusterConnection {
    const { app, controllers, node } = this.#context.options.values
    const { live } = this.#context
    const metrics = this.#controllerMetrics
    const identity = controllers.leaderElect ? { identity: nameProcess(), isGone } : {}
    const log = this.#log
    return new ClusterConnection({
      client,
      createSources: (dialect) => [
        [
          this.#role.create({
            client,
            dialect,
            controllers: controllers.controllers,
            clusterCidrs: node.clusterCidr,
            rootCaPem,
            signing: {
              signer: requestSigner(app.dataDir),
              longestMs: () => live.values.controllers.clusterSigningDuration,
            },
            eventTtlMs: () => live.values.controllers.eventTtl,
            nodeGraceMs: () => live.values.controllers.nodeMonitorGracePeriod,
            autoscaling: liveAutoscaling(live),
            leaseMs: controllers.leaderElectLeaseDuration,
            ...identity,
            metrics,
            log,
          }),
        ],
      ],
      log,
    })
  }

  /** Listens on loopback and the node address, never on all addresses. Health is open, metrics need a permission. */
  #listeners(connection: Component, client: ApiClient): readonly Component[] {
    const { api } = this.#context.options.values
    const { portOption } = this.#role
    const port = this.#role.port(this.#context.options.values)
    const log = this.#log.child('endpoints')
    const handler = createComponentEndpoints({
      metrics: this.#metrics,
      components: () => [connection],
      access: {
        isPublic: () => this.#context.live.values.node.publicMetrics,
        bearerTokens: () => [],
        delegate: componentAccess(client),
        onTrouble: tellTrouble(log),
      },
      log,
    })
    const addresses = new Set([loopbackIpv4, findAdvertiseAddress(api.bindAddress) ?? loopbackIpv4])
    return Array.from(addresses, (address) =>
      httpListener({ name: `${this.name}-endpoints`, handler, log, address, port, portOption }),
    )
  }
}

/** Most are read at each use, so that a change holds from the next pass over an autoscaler on. */
function liveAutoscaling(live: AppContext['live']): ControllerManagerParts['autoscaling'] {
  const read = () => live.values.controllers
  return {
    concurrentSyncs: read().concurrentHorizontalPodAutoscalerSyncs,
    get syncPeriodMs() {
      return read().horizontalPodAutoscalerSyncPeriod
    },
    get downscaleStabilizationMs() {
      return read().horizontalPodAutoscalerDownscaleStabilization
    },
    get tolerance() {
      return read().horizontalPodAutoscalerTolerance
    },
    get cpuInitializationPeriodMs() {
      return read().horizontalPodAutoscalerCpuInitializationPeriod
    },
    get initialReadinessDelayMs() {
      return read().horizontalPodAutoscalerInitialReadinessDelay
    },
  }
}
