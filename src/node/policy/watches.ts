import {
  type ApiClient,
  type Collection,
  Informer,
  type InformerHandler,
  type InformerTiming,
  type SharedInformer,
} from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { Labels, PolicyChanges } from '../../model/network-policy.ts'
import type { Logger, TraceContext, Tracer } from '../../observe/index.ts'
import type { ClusterState, PodRecord } from './cluster-state.ts'
import type { ListedCollections } from './listed-collections.ts'
import { ObjectFeed, type ObjectFeedParts } from './object-feed.ts'
import type { RemotePods } from './plan-watches.ts'
import { readPodRecord, reducePod } from './pod-record.ts'
import type { PolicyProblems } from './problems.ts'
import { readNamespace } from './read-namespace.ts'
import { readNetworkPolicy, unreadablePolicy } from './read-network-policy.ts'

export interface PolicyWatchesParts {
  readonly client: ApiClient
  readonly namespaces: SharedInformer
  readonly dialect: Dialect
  readonly nodeName: string
  readonly state: ClusterState
  readonly lists: ListedCollections
  readonly problems: PolicyProblems
  readonly log: Logger
  /** Absent: changes are not traced. */
  readonly tracer?: Tracer
  readonly onTrace?: (trace: TraceContext) => void
  readonly timing?: Partial<InformerTiming>
  /** How long pods of other nodes that are not needed any more are followed; a minute by default. */
  readonly dropAfterMs?: number
}

interface Watch {
  readonly source: Component
  readonly clear: () => void
  /** Set while nothing needs it. */
  dropTimer?: NodeJS.Timeout | undefined
}

const defaultDropAfterMs = 60_000
const allPods = 'pods of all nodes'

/**
 * Follows NetworkPolicies, the labels of namespaces, the pods of this node, and those of other nodes as far as a rule needs them. It never
 * waits for the server: `lists` says what has come, and what the server refuses.
 */
export class PolicyWatches implements Component {
  readonly name = 'policy-watches'
  readonly #parts: PolicyWatchesParts
  readonly #watches = new Map<string, Watch>()
  /** The watch by which a pod came, so that another one does not remove it. */
  readonly #sources = new Map<ObjectKey, string>()
  readonly #stopping = new AbortController()
  #unsubscribe = () => {}
  #isChoosing = false

  constructor(parts: PolicyWatchesParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    const { state, lists } = this.#parts
    this.#followPolicies()
    this.#followNamespaces()
    this.#followPods('pods of this node', { fieldSelector: `spec.nodeName=${this.#parts.nodeName}` })
    const unsubscribe = [
      state.subscribe((changes) => {
        if (mayMatter(changes)) this.#chooseSoon()
      }),
      lists.onChange(() => this.#chooseSoon()),
    ]
    this.#unsubscribe = () => {
      for (const each of unsubscribe) each()
    }
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#unsubscribe()
    this.#stopping.abort()
    for (const { dropTimer } of this.#watches.values()) clearTimeout(dropTimer)
    await Promise.all([...this.#watches.values()].map(({ source }) => source.stop(scope)))
  }

  /** The names of the collections that are followed. */
  followed(): readonly string[] {
    return [...this.#watches.keys()]
  }

  health(): Health {
    const reports = Array.from(this.#watches, ([name, { source }]) => ({ name, health: source.health() }))
    const worst = reports.find(({ health }) => health.level !== 'ok')
    if (worst) return { ...worst.health, message: `${worst.name}: ${worst.health.message}` }
    return { level: 'ok', message: `followed: ${this.followed().join(', ')}`, sinceMs: 0 }
  }

  #followPolicies(): void {
    const { state, problems, dialect } = this.#parts
    this.#follow('networkpolicies', collection(dialect.groups.networking, 'networkpolicies'), {
      read: readNetworkPolicy,
      standIn: unreadablePolicy,
      store: (policies) => state.setPolicies(policies),
      onProblems: (key, found, object) => problems.setUnreadable(key, found, object),
    })
  }

  #followNamespaces(): void {
    const { state, namespaces, log } = this.#parts
    const feed = {
      read: (object: unknown) => {
        const { value, problems } = readNamespace(object)
        return { value: value?.labels, problems }
      },
      store: (changed: ReadonlyMap<string, Labels | undefined>) => state.setNamespaces(changed),
    }
    const parts = this.#feedParts('namespaces', log.child('namespaces'))
    this.#add('namespaces', new ObjectFeed({ ...parts, ...feed }), (handler) => namespaces.follow(handler))
  }

  #followPods(name: string, { namespace, fieldSelector }: { namespace?: string; fieldSelector?: string }): void {
    const { dialect } = this.#parts
    const pods = { ...collection('', 'pods'), ...(namespace !== undefined && { namespace }) }
    const feed = {
      read: (object: Parameters<typeof readPodRecord>[0]) => {
        const { record, problems } = readPodRecord(object, this.#parts)
        return { value: record, problems }
      },
      store: (records: ReadonlyMap<ObjectKey, PodRecord | undefined>) =>
        this.#storePods(name, fieldSelector !== undefined, records),
    }
    const reduce = (json: unknown) => reducePod(json, dialect)
    this.#follow(name, pods, feed, { reduce, ...(fieldSelector !== undefined && { fieldSelector }) })
  }

  /** A pod of this node comes by its own watch alone, whatever else sees it. */
  #storePods(source: string, isOfThisNode: boolean, records: ReadonlyMap<ObjectKey, PodRecord | undefined>): void {
    const taken = new Map<ObjectKey, PodRecord | undefined>()
    for (const [key, record] of records) {
      const isForeign = record?.isLocal === true && !isOfThisNode
      if (isForeign) continue
      if (record !== undefined) this.#sources.set(key, source)
      else if (this.#sources.get(key) !== source) continue
      else this.#sources.delete(key)
      taken.set(key, record)
    }
    this.#parts.state.setPods(taken)
  }

  #follow<Value>(
    name: string,
    followed: Collection,
    feed: Pick<ObjectFeedParts<Value>, 'read' | 'standIn' | 'store' | 'onProblems'>,
    options: Pick<ConstructorParameters<typeof Informer>[0], 'content' | 'fieldSelector' | 'reduce'> = {},
  ): void {
    const { client, timing, tracer } = this.#parts
    const log = this.#parts.log.child(followed.resource.resource)
    const create = (handler: InformerHandler) =>
      new Informer({
        client,
        collection: followed,
        content: 'unmanaged',
        handler,
        log,
        tracer,
        ...options,
        ...(timing !== undefined && { timing }),
      })
    this.#add(name, new ObjectFeed<Value>({ ...this.#feedParts(name, log), ...feed }), create)
  }

  #feedParts(name: string, log: Logger): Pick<ObjectFeedParts<unknown>, 'name' | 'lists' | 'log' | 'onTrace'> {
    const { lists, onTrace } = this.#parts
    return { name, lists, log, onTrace }
  }

  #add<Value>(name: string, handler: ObjectFeed<Value>, create: (handler: InformerHandler) => Component): void {
    const source = create(handler)
    this.#watches.set(name, { source, clear: () => handler.clear() })
    this.#parts.lists.want(name)
    source.start({ signal: this.#stopping.signal }).catch(() => {})
  }

  /** Once for all changes of one turn, and before any rule is written for them. */
  #chooseSoon(): void {
    if (this.#isChoosing) return
    this.#isChoosing = true
    queueMicrotask(() => {
      this.#isChoosing = false
      if (!this.#stopping.signal.aborted) this.#chooseRemote()
    })
  }

  /** Follows the pods of other nodes that the rules need, once it is known what they are. */
  #chooseRemote(): void {
    const { lists, state } = this.#parts
    const base = ['networkpolicies', 'namespaces', 'pods of this node']
    if (base.some((name) => lists.missing().includes(name))) return
    const wanted = namesOf(state.remotePods)
    for (const [name, namespace] of wanted) this.#keep(name, namespace)
    for (const [name, watch] of this.#watches) {
      if (!wanted.has(name) && !base.includes(name)) this.#dropLater(name, watch)
    }
    lists.settle()
  }

  #keep(name: string, namespace: string | undefined): void {
    const known = this.#watches.get(name)
    if (known === undefined) this.#followPods(name, namespace === undefined ? {} : { namespace })
    else {
      clearTimeout(known.dropTimer)
      known.dropTimer = undefined
    }
  }

  /** Not at once: a policy that is replaced needs the pods again a moment later. */
  #dropLater(name: string, watch: Watch): void {
    const { lists, dropAfterMs = defaultDropAfterMs } = this.#parts
    watch.dropTimer ??= setTimeout(() => {
      this.#watches.delete(name)
      void watch.source.stop({ signal: this.#stopping.signal })
      lists.drop(name)
      watch.clear()
    }, dropAfterMs)
    watch.dropTimer.unref()
  }
}

/** Which pods of other nodes are needed follows from policies, namespaces and the pods of this node. */
function mayMatter({ policies, namespaces, pods }: PolicyChanges): boolean {
  return policies.size + namespaces.size > 0 || pods.values().some((pod) => pod === undefined || pod.isLocal)
}

function collection(group: string, resource: string): Collection {
  return { resource: { group, version: 'v1', resource } }
}

/** The watches by name with their namespaces. */
function namesOf(wanted: RemotePods): ReadonlyMap<string, string | undefined> {
  if (wanted === 'all') return new Map([[allPods, undefined]])
  return new Map(Array.from(wanted, (namespace) => [`pods of namespace ${namespace}`, namespace]))
}
