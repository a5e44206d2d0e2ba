import type { Resolver } from 'node:dns/promises'
import type { Dialect } from '../model/dialect.ts'
import type { ClusterApi } from './cluster-api.ts'
import type { Daemon } from './daemon.ts'
import type { Finding } from './findings.ts'
import type { Lab } from './lab.ts'
import type { ServiceDescription } from './manifests.ts'
import type { WebService } from './web-service.ts'
import type { Workload } from './workload.ts'

/** The address of the cluster's DNS (spec 8). */
export const nameServer = '10.96.0.10'

/** Everything the steps work with. Each leaves it as the next one may expect it: three pods behind `web`, the daemon alive. */
export interface Scene {
  readonly lab: Lab
  readonly api: ClusterApi
  readonly dialect: Dialect
  readonly daemon: Daemon
  readonly web: WebService
  readonly workload: Workload
  /** Asks the cluster's DNS from the node. */
  readonly names: Resolver
  /** Another Service in front of the same pods. Resolves when it serves. */
  readonly serve: (description: ServiceDescription) => Promise<WebService>
  /** How long traffic runs at least in a step that needs it. */
  readonly trafficSeconds: number
}

export interface Step {
  readonly title: string
  run(scene: Scene): Promise<Finding>
}
