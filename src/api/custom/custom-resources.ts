import { isDeepStrictEqual } from 'node:util'
import type { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import { formatTime } from '../../model/api-object.ts'
import { customResourceCleanup, type Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import { parseListOptions } from '../decode/query.ts'
import { type ApiDocument, withMetadata } from '../document.ts'
import { collectionPrefix } from '../resources/keys.ts'
import type { Resource } from '../resources/resource.ts'
import { StatusError } from '../status.ts'
import type { StoreEvent, StoreWatch } from '../store/index.ts'
import { deleteCollection } from '../verbs/delete-collection.ts'
import { reviseObject } from '../verbs/update.ts'
import type { VerbContext } from '../verbs/verb-context.ts'
import { customResources, storedResource } from './custom-resource.ts'
import { definitionsPrefix } from './custom-resource-definitions.ts'
import { readDefinition } from './definition.ts'
import { hasItsNames, settleStatus } from './definition-status.ts'

interface Known {
  readonly document: ApiDocument
  readonly resources: readonly Resource[]
}

export interface CustomResourcesOptions {
  readonly context: VerbContext
  readonly dialect: Dialect
  readonly backoff: Backoff
  readonly log: Logger
}

/**
 * Keeps the registry consistent with the stored definitions: the server serves a definition's resources before it answers the definition's write. In
 * the background it settles names that became free and cleans up after deleted definitions.
 */
export class CustomResources {
  readonly #options: CustomResourcesOptions
  readonly #known = new Map<string, Known>()
  readonly #tidying: BoundedFrequencyRunner
  readonly #watches: StoreWatch[] = []

  constructor(options: CustomResourcesOptions) {
    this.#options = options
    this.#tidying = new BoundedFrequencyRunner(() => this.#tidy(), {
      backoff: options.backoff,
      onError: (thrown, retryInMs) =>
        options.log.warn('custom resources are not settled yet', { error: describeError(thrown), retryInMs }),
    })
  }

  /** Starts to follow the store; resolves once every stored definition is served. */
  async start(): Promise<void> {
    const { store } = this.#options.context
    const { entries, revision } = await store.range(definitionsPrefix)
    for (const { key, value } of entries) this.#learn(key, value)
    this.#publish()
    this.#watches.push(store.watch(definitionsPrefix, revision, (events) => this.#take(events)))
    this.#watches.push(store.watch('/registry/', revision, (events) => this.#takeInstances(events)))
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    for (const watch of this.#watches.splice(0)) watch.close()
    await this.#tidying.stop(scope)
  }

  #take(events: readonly StoreEvent[]): void {
    for (const event of events) {
      if (event.kind === 'put') this.#learn(event.entry.key, event.entry.value)
      else this.#known.delete(event.key)
    }
    this.#publish()
  }

  /** Checks deleted instances: one may be the last of a definition that is being deleted. */
  #takeInstances(events: readonly StoreEvent[]): void {
    const isGone = events.some((event) => event.kind === 'delete')
    if (isGone && [...this.#known.values()].some(({ document }) => isTerminating(document))) this.#tidying.request()
  }

  /** Registers a definition's resources; it creates them once for each change of the definition. */
  #learn(key: string, value: string): void {
    const document = JSON.parse(value) as ApiDocument
    this.#known.set(key, { document, resources: customResources(readDefinition(document), this.#options.dialect) })
  }

  #publish(): void {
    const { registry } = this.#options.context
    registry.replaceCustom([...this.#known.values()].flatMap(({ resources }) => resources))
    this.#tidying.request()
  }

  /** Settles and cleans up definitions; a failure of one definition does not delay the others. */
  async #tidy(): Promise<void> {
    const results = await Promise.allSettled(
      [...this.#known.values()].map(({ document }) => {
        return isTerminating(document) ? this.#clearUp(document) : this.#settle(document)
      }),
    )
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  /** Settles names that another definition may have released; a definition that has all its names costs nothing here. */
  async #settle(document: ApiDocument): Promise<void> {
    if (hasItsNames(document)) return
    const others = [...this.#known.values()].map((known) => known.document)
    const settle = (current: ApiDocument) => settleStatus(current, others, formatTime(this.#options.context.now()))
    if (!isDeepStrictEqual(settle(document), document)) await this.#revise(document, settle, 'status')
  }

  /** Deletes the instances; after the last one has gone, with its finalizers, it releases the definition. */
  async #clearUp(document: ApiDocument): Promise<void> {
    const { context, dialect } = this.#options
    const cleanup = customResourceCleanup(dialect)
    const { finalizers = [] } = document.metadata
    if (!finalizers.includes(cleanup)) return
    const resource = storedResource(readDefinition(document), dialect)
    if (resource !== undefined) await deleteInstances(context, resource)
    const left = resource && (await context.store.range(collectionPrefix(resource, undefined), { limit: 1 }))
    if (left !== undefined && left.entries.length > 0) return
    await this.#revise(document, (current) => {
      const kept = (current.metadata.finalizers ?? []).filter((finalizer) => finalizer !== cleanup)
      return withMetadata(current, { finalizers: kept })
    })
  }

  async #revise(
    document: ApiDocument,
    revise: (current: ApiDocument) => ApiDocument,
    subresource?: 'status',
  ): Promise<void> {
    const { context, dialect } = this.#options
    const resource = context.registry.find(dialect.groups.apiextensions, 'v1', 'customresourcedefinitions')
    if (resource === undefined) return
    const target = { resource, namespace: undefined, name: document.metadata.name ?? '', subresource }
    await reviseObject(context, target, revise, { dryRun: false, manager: 'platnet' }).catch(ignoreGone)
  }
}

async function deleteInstances(context: VerbContext, resource: Resource): Promise<void> {
  const target = { resource, namespace: undefined, name: undefined, subresource: undefined }
  const everything = parseListOptions(new URLSearchParams())
  await deleteCollection(context, target, everything, { dryRun: false, preconditions: {} })
}

function isTerminating({ metadata }: ApiDocument): boolean {
  return metadata.deletionTimestamp !== undefined
}

function ignoreGone(thrown: unknown): void {
  if (!(thrown instanceof StatusError) || thrown.code !== 'NotFound') throw thrown
}
