import { z } from 'zod'
import { type ApiClient, orAbsent } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import { formatMicroTime, formatTime } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import type { Ip } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import {
  leaseSpec,
  type MachineInfo,
  type NodeNetwork,
  networkCondition,
  nodeLabels,
  nodeObject,
  nodeStatus,
} from './plan.ts'

const renewalIntervalMs = 10_000
/** Interval at which the status is reported again, for the case that another program changed it. */
const statusIntervalMs = 5 * 60_000

const nodeSchema = z.object({
  metadata: z.object({ labels: z.record(z.string(), z.string()).optional() }),
  status: z
    .object({
      conditions: z
        .array(
          z.looseObject({
            type: z.string(),
            status: z.string(),
            lastTransitionTime: z.string().nullish(),
            lastHeartbeatTime: z.string().nullish(),
          }),
        )
        .optional(),
    })
    .optional(),
})

export interface RegistrationOptions {
  readonly client: ApiClient
  readonly dialect: Dialect
  readonly machine: MachineInfo
  readonly log: Logger
  /** How often the Lease is renewed; 10 s where undefined. */
  readonly intervalMs?: number
}

/** Maintains this node's Node object, its readiness, and a Lease that is renewed every 10 s. */
export class NodeRegistration implements Component {
  readonly name = 'registration'
  readonly #options: RegistrationOptions
  readonly #renewal: Periodic
  #network: NodeNetwork | undefined
  #reportedNetwork: NodeNetwork | undefined
  #reportedAddress: Ip | undefined
  #statusWrittenMs = Number.NEGATIVE_INFINITY
  #health: Health = { level: 'ok', message: '', sinceMs: 0 }

  constructor(options: RegistrationOptions) {
    this.#options = options
    this.#reportedAddress = options.machine.addresses[0]
    this.#renewal = new Periodic(({ signal }) => this.#renew(signal), {
      intervalMs: options.intervalMs ?? renewalIntervalMs,
      firstAfterMs: 0,
      onError: (error) => this.#reportTrouble(error),
    })
  }

  async start(): Promise<void> {
    this.#renewal.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#renewal.stop(scope)
  }

  /** Reports the state of the network at once; before the first call another program maintains that condition. */
  setNetwork(network: NodeNetwork): void {
    this.#network = network
    this.#renewal.runSoon()
  }

  health(): Health {
    return this.#health
  }

  async #renew(signal: AbortSignal): Promise<void> {
    await this.#renewLease(signal)
    await this.#keepNode(signal)
    if (this.#health.level !== 'ok') this.#health = { level: 'ok', message: '', sinceMs: Date.now() }
  }

  async #keepNode(signal: AbortSignal): Promise<void> {
    const { client, dialect, machine, log } = this.#options
    const found = await orAbsent(client.get(this.#node, { signal }))
    if (found === undefined) {
      await client.create({ resource: nodes }, nodeObject(machine, dialect), { signal })
      log.info('this node is registered', { node: machine.name })
    }
    const node = nodeSchema.parse(found ?? nodeObject(machine, dialect))
    const labels = nodeLabels(machine, dialect)
    const isLabelled = Object.entries(labels).every(([key, value]) => node.metadata.labels?.[key] === value)
    if (!isLabelled) await client.patch(this.#node, { kind: 'merge', patch: { metadata: { labels } } }, { signal })
    await this.#writeStatus(node.status?.conditions ?? [], signal)
  }

  /**
   * Builds the status; conditions of other programs stay. A report that says nothing new keeps its heartbeat times, so
   * that the server writes nothing: every change of a Node goes to every agent, and the Lease is the heartbeat.
   */
  async #writeStatus(conditions: readonly Condition[], signal: AbortSignal): Promise<void> {
    const ready = conditions.find(({ type }) => type === 'Ready')
    const isReady = ready?.status === 'True'
    const network = this.#network
    const [address] = this.#options.machine.addresses
    const isReported = network === this.#reportedNetwork && address === this.#reportedAddress
    if (isReady && isReported && performance.now() - this.#statusWrittenMs < statusIntervalMs) return
    const time = formatTime(Date.now())
    const now = isReady && isReported ? (ready?.lastHeartbeatTime ?? time) : time
    const readySince = isReady ? (ready?.lastTransitionTime ?? now) : now
    const own = nodeStatus(this.#options.machine, { now, readySince })
    const mine = [...own.conditions, ...(network ? [networkCondition(network, sinceOf(network, conditions, now))] : [])]
    const others = conditions.filter(({ type }) => mine.every((one) => one.type !== type))
    const patch = { status: { ...own, conditions: [...others, ...mine] } }
    await this.#options.client.patch({ ...this.#node, subresource: 'status' }, { kind: 'merge', patch }, { signal })
    this.#statusWrittenMs = performance.now()
    this.#reportedNetwork = network
    if (address !== this.#reportedAddress)
      this.#options.log.info('the address of this node has changed', { address, before: this.#reportedAddress })
    this.#reportedAddress = address
  }

  async #renewLease(signal: AbortSignal): Promise<void> {
    const { client, dialect, machine } = this.#options
    const resource = { group: dialect.groups.coordination, version: 'v1', resource: 'leases' }
    const collection = { resource, namespace: leaseNamespace }
    const spec = leaseSpec(machine.name, formatMicroTime(new Date()))
    const patch = { kind: 'merge', patch: { spec } } as const
    const renewed = await orAbsent(client.patch({ ...collection, name: machine.name }, patch, { signal }))
    if (renewed !== undefined) return
    const metadata = { name: machine.name, namespace: leaseNamespace }
    const apiVersion = `${resource.group}/${resource.version}`
    await client.create(collection, { apiVersion, kind: 'Lease', metadata, spec }, { signal })
  }

  #reportTrouble(error: unknown): void {
    const message = describeError(error)
    if (message !== this.#health.message)
      this.#options.log.warn('this node could not update its Node object and Lease; tried again', { error })
    this.#health = { level: 'degraded', message, sinceMs: Date.now() }
  }

  get #node() {
    return { resource: nodes, name: this.#options.machine.name }
  }
}

type Condition = NonNullable<NonNullable<z.output<typeof nodeSchema>['status']>['conditions']>[number]

/** Returns the time of the last transition of the network condition. */
function sinceOf({ isReady }: NodeNetwork, conditions: readonly Condition[], now: string) {
  const before = conditions.find(({ type }) => type === 'NetworkUnavailable')
  const isSame = before?.status === (isReady ? 'False' : 'True')
  return { now, since: isSame ? (before?.lastTransitionTime ?? now) : now }
}

const nodes = { group: '', version: 'v1', resource: 'nodes' }
const leaseNamespace = 'kube-node-lease'
