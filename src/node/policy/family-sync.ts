import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { Ip } from '../../model/ip.ts'
import type { NetworkPolicy, PolicyChanges, PolicyPod } from '../../model/network-policy.ts'
import { formatXorHash, type XorHash } from '../../model/xor-hash.ts'
import { PendingTraces, type Span, silentTracer, startShared, type TraceContext } from '../../observe/index.ts'
import { RulesError, traceWrite, type WriteReport } from '../rules/index.ts'
import { PendingPolicyChanges } from './pending-policy-changes.ts'
import { denyAll, type FamilyParts, type PlannedWrite, type PolicyPlaneParts } from './plane-parts.ts'

const maxGapMs = 1_000
/** A connection of an address that left a pod must not live on in the next pod that has it; no pod waits longer than this. */
const forgetTimeoutMs = 1_000
/** Other errors concern no policy alone. */
const refusals: ReadonlySet<RulesError['code']> = new Set(['restore-failed', 'set-refused'])
const retryRefusedMs = { baseMs: 30_000, maxMs: 600_000 }

type SharedParts = Pick<
  PolicyPlaneParts,
  'state' | 'lists' | 'problems' | 'nodeState' | 'metrics' | 'log' | 'tracer' | 'minGapMs'
>

export interface LastPolicySync extends WriteReport {
  /** Milliseconds since 1970. */
  readonly atMs: number
}

export interface FamilySyncParts extends SharedParts, FamilyParts {
  /** Called after each run, also after one that failed. */
  readonly onRun: () => void
}

interface Refusal {
  readonly policies: readonly ObjectKey[]
  readonly reason: string
}

interface Refused {
  readonly backoff: Backoff
  timer: NodeJS.Timeout | undefined
  /** The version that stands in for it; undefined if the policy is gone. */
  standIn: NetworkPolicy | undefined
}

/**
 * Keeps the rules of one family in step: takes what changed, plans it, writes it, and remembers the revision of the node's state that the
 * kernel enforces. A failed write is retried, and nothing of it is lost. A policy that the kernel refuses is set aside: the version
 * before stays, a new one denies, and it is tried again later and when it changes.
 */
export class FamilySync {
  readonly #parts: FamilySyncParts
  readonly #runner: BoundedFrequencyRunner
  readonly #pending = new PendingPolicyChanges()
  readonly #traces = new PendingTraces()
  /** The version of each policy that the kernel has, of those that are or were refused. */
  readonly #taken = new Map<ObjectKey, NetworkPolicy>()
  readonly #refused = new Map<ObjectKey, Refused>()
  readonly #addresses = new Map<ObjectKey, readonly Ip[]>()
  /** Addresses that left their pods, until the rules say so. */
  #left: Ip[] = []
  #isPlanned = false
  /** Whether the plan may have something to hand over; a step of the node's state alone has nothing. */
  #mayPlan = true
  #wasAsked = false
  #isSynced = false
  #isBusy = false
  #mayLose = false
  #unwritten: XorHash | undefined
  #enforcedRevision = 0
  #lastSync: LastPolicySync | undefined
  #failure: string | undefined

  constructor(parts: FamilySyncParts) {
    this.#parts = parts
    this.#runner = new BoundedFrequencyRunner(() => this.#sync(), {
      backoff: new Backoff({ baseMs: 100, maxMs: 30_000 }),
      minGapMs: parts.minGapMs ?? ((lastRunMs) => Math.min(2 * lastRunMs, maxGapMs)),
      onError: (error, retryInMs) => this.#onFailure(error, retryInMs),
    })
  }

  get family() {
    return this.#parts.family
  }

  /** The revision of the node's state whose pods the kernel's rules cover; 0 before the first write. */
  get enforcedRevision(): number {
    return this.#enforcedRevision
  }

  get lastSync(): LastPolicySync | undefined {
    return this.#lastSync
  }

  /** The reason why the last write failed; undefined where it succeeded. */
  get failure(): string | undefined {
    return this.#failure
  }

  /** Whether the kernel has everything that was asked for. */
  get isSettled(): boolean {
    return !this.#isBusy && this.#hasWrittenAll
  }

  get #hasWrittenAll(): boolean {
    const isDone = this.#isSynced && this.#failure === undefined && this.#unwritten === undefined
    return isDone && this.#pending.isEmpty && !this.#mayPlan
  }

  findStuckRun(): string | undefined {
    return this.#runner.findStuckRun()
  }

  add(changes: PolicyChanges): void {
    if (this.#isPlanned) this.#pending.add(changes)
    // A policy that changed is tried again; its last accepted version stands until then.
    for (const key of changes.policies.keys()) this.#forgetRefusal(key)
  }

  addTrace(trace: TraceContext): void {
    this.#traces.add([trace])
  }

  request({ urgent }: { readonly urgent: boolean }): void {
    this.#mayPlan = true
    this.#runner.request({ urgent })
  }

  /** The rules stay in the kernel. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    for (const { timer } of this.#refused.values()) clearTimeout(timer)
    await this.#runner.stop(scope)
  }

  /** The node's state made a step: where it is none for the policies, the kernel enforces it already. */
  advance(revision: number, { urgent }: { readonly urgent: boolean }): void {
    if (this.isSettled) this.#enforcedRevision = Math.max(this.#enforcedRevision, revision)
    else this.#runner.request({ urgent })
  }

  async #sync(): Promise<void> {
    this.#isBusy = true
    try {
      await this.#syncOnce()
    } finally {
      this.#isBusy = false
    }
    this.#parts.onRun()
  }

  async #syncOnce(): Promise<void> {
    const { lists, nodeState, cutter, metrics, rules } = this.#parts
    if (!lists.isComplete) return this.#waitForLists()
    if (this.#hasWrittenAll) {
      this.#enforcedRevision = Math.max(this.#enforcedRevision, nodeState.revision)
      return
    }
    const startedMs = performance.now()
    const revision = await rules.change(() => this.#changeTraced())
    this.#failure = undefined
    if (this.#mayLose) cutter.judgeAll()
    this.#mayLose = false
    cutter.forget(this.#left.splice(0))
    await cutter.whenForgotten(forgetTimeoutMs)
    this.#enforcedRevision = Math.max(this.#enforcedRevision, revision)
    metrics.observeSync(this.family, performance.now() - startedMs)
  }

  /** One change in the trace of each object that it is for; after a failure also the next one. */
  async #changeTraced(): Promise<number> {
    const { tracer = silentTracer, family } = this.#parts
    const traces = this.#traces.take()
    const span = startShared(tracer, 'sync policies', traces, { attributes: { 'platnet.family': family } })
    try {
      const revision = await this.#change(span)
      span.end()
      return revision
    } catch (error) {
      this.#traces.add(traces)
      span.end({ error: describeError(error) })
      throw error
    }
  }

  /** Returns the revision of the node's state that the kernel has then. Throws RulesError and ExecError. */
  async #change(span: Span): Promise<number> {
    const { nodeState, cutter } = this.#parts
    const { revision } = nodeState
    this.#mayPlan = false
    const taken = this.#takeChanges()
    let refusal = await this.#writeChanges(taken, span)
    while (refusal !== undefined) refusal = await this.#writeChanges(this.#setAside(refusal), span)
    this.#remember(taken.policies)
    await cutter.release()
    return revision
  }

  #waitForLists(): void {
    const { waitMs } = this.#parts.lists
    if (waitMs === undefined) return
    setTimeout(() => this.#runner.request({ urgent: true }), Math.ceil(waitMs)).unref()
  }

  #takeChanges(): PolicyChanges {
    const changes = this.#isPlanned ? this.#pending.take() : this.#parts.state.everything()
    this.#isPlanned = true
    this.#noteAddresses(changes.pods)
    return changes
  }

  /** Returns the policies whose rules the kernel refused, if it was not those of all. Throws RulesError. */
  async #writeChanges(changes: PolicyChanges, span: Span): Promise<Refusal | undefined> {
    const { plan } = this.#parts
    const planning = span.child('plan policies')
    const planned = await plan.take(changes)
    planning.end()
    const isNothing = planned.tables.length === 0 && isEmptySetChange(planned.sets) && this.#unwritten === undefined
    if (isNothing && this.#isSynced) return undefined
    this.#unwritten = planned.objects
    this.#mayLose ||= planned.mayLose
    try {
      await this.#write(planned, span)
    } catch (error) {
      const policies = this.#findRefused(error)
      if (policies.length === 0) throw error
      return { policies, reason: describeError(error) }
    }
    this.#unwritten = undefined
    return undefined
  }

  /**
   * Those that deny already are left out: nothing else can stand in for them. What the kernel has taken before may fail for a moment, as a
   * set that gains members: that counts where the attempt before failed too.
   */
  #findRefused(error: unknown): readonly ObjectKey[] {
    if (!(error instanceof RulesError) || !refusals.has(error.code)) return []
    const { plan, state } = this.#parts
    const mayBeAtFault = (key: ObjectKey) =>
      this.#isSetAside(key)
        ? !this.#isDenied(key)
        : this.#failure !== undefined || this.#taken.get(key) !== state.policy(key)
    const named = error.line?.chain ?? error.line?.set
    return named === undefined ? [] : plan.policiesOf(named).filter(mayBeAtFault)
  }

  async #write({ tables, sets, objects }: PlannedWrite, span: Span): Promise<void> {
    const { writer, log, tracer = silentTracer } = this.#parts
    const isFirst = !this.#wasAsked
    this.#wasAsked = true
    const report = isFirst ? await writer.sync(tables, objects, sets) : await writer.write(tables, objects, sets)
    traceWrite(tracer, span, report)
    // What was allowed before this process began is not known.
    this.#mayLose ||= !this.#isSynced
    this.#isSynced = true
    this.#lastSync = { ...report, atMs: Date.now() }
    log.debug('rules of policies synced', { ...report, objects: formatXorHash(objects) })
  }

  /** The kernel has these, but for those that are set aside. */
  #remember(policies: PolicyChanges['policies']): void {
    for (const [key, policy] of policies) {
      if (this.#isSetAside(key)) continue
      this.#forgetRefusal(key)
      if (policy === undefined) this.#taken.delete(key)
      else this.#taken.set(key, policy)
    }
  }

  /** Whether another version stands in for it now. */
  #isSetAside(policy: ObjectKey): boolean {
    return this.#refused.get(policy)?.timer !== undefined
  }

  /** Whether what stands in for it allows nothing. */
  #isDenied(policy: ObjectKey): boolean {
    const { ingress, egress } = this.#refused.get(policy)?.standIn ?? {}
    return (ingress ?? []).length + (egress ?? []).length === 0
  }

  /** Returns the change to the versions that stand in for them. */
  #setAside({ policies, reason }: Refusal): PolicyChanges {
    const standIns = policies.map((key) => [key, this.#setAsideOne(key, reason)] as const)
    return { policies: new Map(standIns), pods: new Map(), namespaces: new Map() }
  }

  /** The earlier version stands in, unless it is that one which is refused: the members of a set may be at fault. */
  #setAsideOne(key: ObjectKey, reason: string): NetworkPolicy | undefined {
    const { state, problems, log, family } = this.#parts
    const policy = state.policy(key)
    const earlier = this.#isSetAside(key) || this.#taken.get(key) === policy ? undefined : this.#taken.get(key)
    const refused = this.#refused.get(key) ?? {
      backoff: new Backoff(retryRefusedMs),
      timer: undefined,
      standIn: undefined,
    }
    this.#refused.set(key, refused)
    clearTimeout(refused.timer)
    refused.timer = setTimeout(() => this.#tryAgain(key), refused.backoff.nextDelayMs())
    refused.timer.unref()
    refused.standIn = policy && (earlier ?? denyAll(policy))
    const why = earlier === undefined ? 'its pods are isolated and nothing is allowed by it' : 'its earlier rules stay'
    problems.setRefused(key, `the kernel refuses its rules (${family}), ${why}: ${reason}`)
    log.warn('a policy is set aside', { policy: key, family, reason })
    return refused.standIn
  }

  #tryAgain(key: ObjectKey): void {
    const refused = this.#refused.get(key)
    if (refused === undefined) return
    refused.timer = undefined
    this.#pending.add({ policies: new Map([[key, this.#parts.state.policy(key)]]) })
    this.request({ urgent: false })
  }

  #forgetRefusal(key: ObjectKey): void {
    const refused = this.#refused.get(key)
    if (refused === undefined) return
    clearTimeout(refused.timer)
    this.#refused.delete(key)
    this.#parts.problems.setRefused(key, undefined)
  }

  /** Connections of an address that is another pod's now, or no pod's, end once the rules say so. */
  #noteAddresses(pods: ReadonlyMap<ObjectKey, PolicyPod | undefined>): void {
    const left: Ip[] = []
    for (const [key, pod] of pods) {
      const now = pod?.isLocal === true ? pod.ips : []
      left.push(...(this.#addresses.get(key) ?? []).filter((ip) => !now.includes(ip)))
      if (now.length === 0) this.#addresses.delete(key)
      else this.#addresses.set(key, now)
    }
    this.#left.push(...left)
  }

  #onFailure(error: unknown, retryInMs: number): void {
    const { metrics, log, family } = this.#parts
    this.#failure = `the last write of ${family} failed: ${describeError(error)}`
    // The cutter has waited for rules that stand.
    this.#mayLose = true
    metrics.countFailure(family)
    log.error('could not write the rules of policies, will try again', {
      family,
      error,
      retryInMs: Math.round(retryInMs),
    })
    this.#parts.onRun()
  }
}

function isEmptySetChange({ create, add, remove, destroy }: PlannedWrite['sets']): boolean {
  return create.size + add.size + remove.size + destroy.length === 0
}
