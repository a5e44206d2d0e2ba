import type { Component, Health, HealthLevel } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import type { PolicyChanges } from '../../model/network-policy.ts'
import type { TraceContext } from '../../observe/index.ts'
import type { ChangeSet } from '../state/index.ts'
import { FamilySync } from './family-sync.ts'
import type { PolicyPlaneParts } from './plane-parts.ts'
import { type PolicyStatus, policyStatus } from './status.ts'

const defaultObstacleIntervalMs = 30_000
const maxNamed = 5

/** The name under which the plane publishes what it has applied. */
export const policyPlane = 'policy'

/**
 * Enforces NetworkPolicies on the pods of this node: each family on its own, and a revision of the node's state counts as applied when all of them
 * have it. Nothing is written before the lists are complete. A node that cannot enforce policies says so in its health and
 * keeps no pod waiting for it.
 */
export class PolicyPlane implements Component {
  readonly name = policyPlane
  readonly #parts: PolicyPlaneParts
  readonly #families: readonly FamilySync[]
  readonly #obstacleSearch: Periodic
  /** Undefined before the first search. */
  #obstacles: readonly string[] | undefined
  #health: Health = {
    level: 'unknown',
    message: 'waiting for the first lists of policies, pods and namespaces',
    sinceMs: 0,
  }
  #unsubscribe: readonly (() => void)[] = []

  constructor(parts: PolicyPlaneParts) {
    this.#parts = parts
    const { families, obstacleIntervalMs: intervalMs = defaultObstacleIntervalMs } = parts
    this.#families = families.map((family) => new FamilySync({ ...parts, ...family, onRun: () => this.#publish() }))
    this.#obstacleSearch = new Periodic(() => this.#findObstacles(), {
      intervalMs,
      firstAfterMs: 0,
      onError: (error) => parts.log.warn('obstacles of policies could not be looked for', { error }),
    })
  }

  async start(): Promise<void> {
    const { state, nodeState, lists } = this.#parts
    this.#unsubscribe = [
      state.subscribe((changes) => this.#onChange(changes)),
      nodeState.subscribe((change) => this.#onNodeChange(change)),
      lists.onChange(() => this.#onLists()),
    ]
    this.#obstacleSearch.start()
    this.#onLists()
  }

  /** The rules stay in the kernel: policies hold while the daemon is away. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    await this.#obstacleSearch.stop(scope)
    await Promise.all(this.#families.map((family) => family.stop(scope)))
    this.#setHealth('stopped', 'rules stay in the kernel')
  }

  health(): Health {
    return this.#health
  }

  async examine(): Promise<string | undefined> {
    return this.#families.map((family) => family.findStuckRun()).find((reason) => reason !== undefined)
  }

  /** Writes what other settings of the plans change. */
  replan(): void {
    this.#request({ urgent: false })
  }

  /** The next sync is for a change at this place of a trace. */
  addTrace(trace: TraceContext): void {
    for (const family of this.#families) family.addTrace(trace)
  }

  status(): PolicyStatus {
    return policyStatus({ ...this.#parts, families: this.#families, obstacles: this.#reasonsNotToEnforce() })
  }

  /** Whether policies hold on this node, as far as it can tell. */
  get isEnforcing(): boolean {
    return this.#hasBegun && this.#reasonsNotToEnforce().length === 0
  }

  /** The reason why policies do not hold here, in a sentence; undefined where they do. */
  caveat(): string | undefined {
    return this.isEnforcing ? undefined : this.#judgeHealth()[1]
  }

  /** The reasons why this node enforces no policies; none if it does. Once it has begun, it goes on. */
  #reasonsNotToEnforce(): readonly string[] {
    return [...(this.#obstacles ?? []), ...this.#parts.lists.denials()]
  }

  get #hasBegun(): boolean {
    return this.#families.every(({ lastSync }) => lastSync !== undefined)
  }

  get #mayWrite(): boolean {
    return this.#obstacles?.length === 0 || this.#hasBegun
  }

  async #findObstacles(): Promise<void> {
    const { findObstacles, log } = this.#parts
    const before = this.#obstacles
    const found = await findObstacles()
    this.#obstacles = found
    if (before !== undefined && found.join() === before.join()) return
    for (const obstacle of found)
      log.error(this.#hasBegun ? 'policies do not hold' : 'policies are not enforced', { reason: obstacle })
    if (before !== undefined && found.length === 0) log.info('nothing keeps policies from being enforced any more', {})
    this.#request({ urgent: true })
    this.#publish()
  }

  #onChange(changes: PolicyChanges): void {
    for (const family of this.#families) family.add(changes)
    this.#request({ urgent: changes.pods.values().some((pod) => pod?.isUnknown === true) })
  }

  /** Every step of the node's state is to be published, also one that has to do with no pod. */
  #onNodeChange({ revision, localPods = new Set() }: ChangeSet): void {
    const { state, nodeState } = this.#parts
    for (const key of localPods) state.setAnnounced(key, nodeState.announcedPod(key))
    if (this.#mayWrite) for (const family of this.#families) family.advance(revision, { urgent: localPods.size > 0 })
    this.#publish()
  }

  #onLists(): void {
    this.#request({ urgent: false })
    this.#publish()
  }

  #request(how: { readonly urgent: boolean }): void {
    if (!this.#mayWrite) return
    for (const family of this.#families) family.request(how)
  }

  #publish(): void {
    const { applied, nodeState } = this.#parts
    const isExpected = this.#hasBegun || this.#reasonsNotToEnforce().length === 0
    const enforced = Math.min(...this.#families.map(({ enforcedRevision }) => enforcedRevision))
    applied.publish(policyPlane, isExpected ? enforced : nodeState.revision)
    this.#updateHealth()
  }

  #updateHealth(): void {
    const [level, message] = this.#judgeHealth()
    this.#setHealth(level, message)
  }

  #judgeHealth(): readonly [HealthLevel, string] {
    const reasons = this.#reasonsNotToEnforce()
    if (reasons.length > 0) {
      const what = this.#hasBegun ? 'policies do not hold' : 'policies are NOT enforced on this node'
      return ['degraded', `${what}: ${reasons.join('; ')}`]
    }
    const failures = this.#families.map(({ failure }) => failure).filter((failure) => failure !== undefined)
    if (failures.length > 0) return [this.#hasBegun ? 'degraded' : 'unknown', failures.join('; ')]
    if (!this.#hasBegun) return ['unknown', describeWait(this.#parts.lists.missing())]
    return this.#judgePolicies()
  }

  #judgePolicies(): readonly [HealthLevel, string] {
    const { problems, state } = this.#parts
    const named = [...new Set(problems.list().map(({ policy }) => policy))]
    if (named.length === 0) return ['ok', `${state.counts.policies} policies are enforced`]
    const more = named.length > maxNamed ? ` and ${named.length - maxNamed} more` : ''
    return ['degraded', `not enforced as written: ${named.slice(0, maxNamed).join(', ')}${more}`]
  }

  #setHealth(level: HealthLevel, message: string): void {
    const sinceMs = this.#health.level === level ? this.#health.sinceMs : Date.now()
    this.#health = { level, message, sinceMs }
  }
}

/** Nothing is followed before the API server has answered. */
function describeWait(missing: readonly string[]): string {
  return missing.length === 0 ? 'waiting for the API server' : `waiting for lists: ${missing.join(', ')}`
}
