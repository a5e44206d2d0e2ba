import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { type ApiClient, ApiError } from '../../../client/index.ts'
import type { Component, Health } from '../../../loop/component.ts'
import { Periodic } from '../../../loop/periodic.ts'
import { type ApiObject, formatTime } from '../../../model/api-object.ts'
import type { Dialect } from '../../../model/dialect.ts'
import { describeError } from '../../../model/errors.ts'
import type { Ip } from '../../../model/ip.ts'
import type { Logger } from '../../../observe/index.ts'
import {
  differencesOf,
  kubeDns,
  kubeDnsService,
  type MirrorFacts,
  mirrorPod,
  mirrorPodName,
  mirrorStatus,
} from './plan.ts'

export interface KubeDnsParts {
  readonly client: ApiClient
  readonly dialect: Dialect
  readonly clusterDns: readonly Ip[]
  readonly facts: MirrorFacts
  /** Returns whether queries to this node's address are answered now. */
  readonly serves: () => boolean
  readonly log: Logger
  /** How often the readiness is looked at, and every third time the objects; 5 s where undefined. */
  readonly intervalMs?: number
}

const defaultIntervalMs = 5_000
/** Looks at what is settled are one in so many: an agent at rest asks nothing else so often. */
const looksPerRepair = 3
const nodeIntervalMs = 250
const maxDenialMs = 600_000

const serviceSchema = z.object({
  spec: z.object({
    clusterIP: z.string().optional(),
    ports: z.array(z.object({ port: z.number(), protocol: z.string().default('TCP') })).default([]),
    selector: z.record(z.string(), z.string()).default({}),
  }),
})

const nodeSchema = z.object({ metadata: z.object({ uid: z.string() }) })

const podSchema = z.object({
  status: z.object({
    podIP: z.string().optional(),
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
    containerStatuses: z.array(z.object({ ready: z.boolean() })).default([]),
  }),
})

/**
 * Creates the Service `kube-dns` where there is none, and the Pod that makes this node an endpoint of it while it answers. Objects of others
 * stay as they are; the log says how they differ.
 */
export class KubeDnsObjects implements Component {
  readonly name = 'kube-dns'
  readonly #parts: KubeDnsParts
  readonly #loop: Periodic
  readonly #warned = new Set<string>()
  readonly #denials = new Map<string, { readonly waitMs: number; readonly untilMs: number }>()
  #hasAwaited = false
  /** The readiness that the Pod shows for certain; undefined where that is not known. */
  #shown: boolean | undefined
  #looks = 0
  #health: Health = { level: 'ok', message: '', sinceMs: 0 }

  constructor(parts: KubeDnsParts) {
    this.#parts = parts
    this.#loop = new Periodic(({ signal }) => this.#look(signal), {
      intervalMs: this.#intervalMs,
      firstAfterMs: 0,
      onError: (error) =>
        this.#warnOnce('the Service and Pod of the cluster DNS could not be reconciled', {
          error: describeError(error),
        }),
    })
  }

  get #intervalMs(): number {
    return this.#parts.intervalMs ?? defaultIntervalMs
  }

  async start(): Promise<void> {
    this.#loop.start()
  }

  /** Marks the Pod as not ready, so that this node is no endpoint any more. The Pod stays for the next start. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#loop.stop(scope)
    await this.#findPod(scope.signal)
      .then((found) => this.#reportReady(found, false, scope.signal))
      .catch(() => {})
    this.#health = { level: 'stopped', message: 'stopped', sinceMs: Date.now() }
  }

  health(): Health {
    return this.#health
  }

  async #look(signal: AbortSignal): Promise<void> {
    const isSettled = this.#shown === this.#parts.serves()
    this.#looks = isSettled ? this.#looks + 1 : 0
    if (isSettled && this.#looks % looksPerRepair !== 0) return
    this.#shown = undefined
    await this.#reconcile(signal)
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    await this.#unlessDenied('Service kube-system/kube-dns', () => this.#reconcileService(signal))
    await this.#unlessDenied(`Pod ${mirrorPodName(this.#parts.facts)}`, () => this.#reconcilePod(signal))
  }

  async #reconcileService(signal: AbortSignal): Promise<void> {
    const { client, clusterDns, log } = this.#parts
    const found = await this.#orAbsent(client.get({ ...services, name: kubeDns.name }, { signal }))
    if (found === undefined) {
      const isCreated = await this.#unlessTaken(client.create(services, kubeDnsService(clusterDns), { signal }))
      if (isCreated) log.info('the Service of the cluster DNS was created', { address: clusterDns[0] })
      return
    }
    const parsed = serviceSchema.safeParse(found)
    const differences = parsed.success ? differencesOf(parsed.data.spec, clusterDns) : ['it could not be parsed']
    if (differences.length > 0)
      this.#warnOnce('the Service kube-system/kube-dns does not match what this node serves; it is left unchanged', {
        differences: differences.join('; '),
      })
  }

  async #reconcilePod(signal: AbortSignal): Promise<void> {
    const { serves } = this.#parts
    if (!this.#hasAwaited) await this.#awaitServing(signal)
    this.#hasAwaited = true
    const found = await this.#findPod(signal)
    if (found === undefined && serves()) await this.#createPod(signal)
    const pod = found ?? (serves() ? await this.#findPod(signal) : undefined)
    await this.#reportReady(pod, serves(), signal)
  }

  /**
   * Waits for an agent that has just started to serve. Without that the node would leave the Service and come back, and the rules of all nodes
   * would change twice.
   */
  async #awaitServing(signal: AbortSignal): Promise<void> {
    const { serves } = this.#parts
    for (let waitedMs = 0; !serves() && waitedMs < this.#intervalMs; waitedMs += nodeIntervalMs)
      await setTimeout(nodeIntervalMs, undefined, { signal })
  }

  async #createPod(signal: AbortSignal): Promise<void> {
    const { client, dialect, facts } = this.#parts
    const node = await this.#awaitNode(signal)
    if (node === undefined)
      return this.#warnOnce('the Node object does not exist, so this node is no endpoint of the cluster DNS', {})
    await this.#unlessTaken(client.create(pods, mirrorPod(facts, node.metadata.uid, dialect), { signal }))
  }

  /** Waits for the Node: an agent registers it while it starts, so the first look may come too early. */
  async #awaitNode(signal: AbortSignal): Promise<z.output<typeof nodeSchema> | undefined> {
    const { client, facts } = this.#parts
    for (let waitedMs = 0; ; waitedMs += nodeIntervalMs) {
      const found = nodeSchema.safeParse(
        await this.#orAbsent(client.get({ ...nodes, name: facts.nodeName }, { signal })),
      )
      if (found.success) return found.data
      if (waitedMs >= this.#intervalMs) return undefined
      await setTimeout(nodeIntervalMs, undefined, { signal })
    }
  }

  async #reportReady(pod: ApiObject | undefined, ready: boolean, signal: AbortSignal): Promise<void> {
    const { client, facts } = this.#parts
    const { address } = facts
    const found = podSchema.safeParse(pod)
    if (!found.success || address === undefined) return
    const { podIP, conditions, containerStatuses } = found.data.status
    const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
    // Others may change a condition alone, for example of a node that is lost; earlier versions wrote no container status.
    const isReported = isReady === ready && containerStatuses.some((container) => container.ready === ready)
    if (isReported && podIP === address) {
      this.#shown = ready
      return
    }
    const times = { now: formatTime(Date.now()), startedAt: formatTime(performance.timeOrigin) }
    const patch = { status: mirrorStatus(address, ready, times) }
    await client.patch({ ...this.#pod, subresource: 'status' }, { kind: 'merge', patch }, { signal })
    this.#shown = ready
  }

  /** A node may read only pods that are bound to it, so a Pod that does not exist is forbidden to it. */
  async #findPod(signal: AbortSignal): Promise<ApiObject | undefined> {
    const { client } = this.#parts
    try {
      return await this.#orAbsent(client.get(this.#pod, { signal }))
    } catch (error) {
      if (error instanceof ApiError && error.code === 'forbidden') return undefined
      throw error
    }
  }

  get #pod() {
    return { ...pods, name: mirrorPodName(this.#parts.facts) }
  }

  async #orAbsent(request: Promise<ApiObject>): Promise<ApiObject | undefined> {
    try {
      return await request
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not-found') return undefined
      throw error
    }
  }

  /** Returns whether the object was created; another node may have been first. */
  async #unlessTaken(request: Promise<ApiObject>): Promise<boolean> {
    try {
      await request
      return true
    } catch (error) {
      if (error instanceof ApiError && ['conflict', 'already-exists'].includes(error.code)) return false
      throw error
    }
  }

  /**
   * Does the work unless it was denied a short time ago. Where nodes may not read or create such an object, something else creates it. The
   * denial is logged once, and the work is tried again with growing delays: a server that has just started may not know yet what a node may do.
   */
  async #unlessDenied(what: string, work: () => Promise<void>): Promise<void> {
    const denial = this.#denials.get(what)
    if (denial !== undefined && performance.now() < denial.untilMs) return
    try {
      await work()
      this.#denials.delete(what)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'forbidden') throw error
      const waitMs = Math.min(2 * (denial?.waitMs ?? this.#intervalMs / 2), maxDenialMs)
      this.#denials.set(what, { waitMs, untilMs: performance.now() + waitMs })
      this.#warnOnce(`this node may not create ${what}; it answers queries to the cluster DNS without it`, {})
    }
  }

  /** Logs a warning once, however often it is found. */
  #warnOnce(message: string, fields: Readonly<Record<string, unknown>>): void {
    const key = `${message} ${JSON.stringify(fields)}`
    if (this.#warned.has(key)) return
    this.#warned.add(key)
    this.#parts.log.warn(message, fields)
  }
}

const services = { resource: { group: '', version: 'v1', resource: 'services' }, namespace: kubeDns.namespace }
const nodes = { resource: { group: '', version: 'v1', resource: 'nodes' } }
const pods = { resource: { group: '', version: 'v1', resource: 'pods' }, namespace: kubeDns.namespace }
