import { type ApiClient, Informer, type InformerHandler, type WireObject } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { Node } from '../../model/node.ts'
import type { Logger } from '../../observe/index.ts'
import { formatProblem, parseNode } from '../state/index.ts'

export interface NodeWatchParts {
  /** The name of the component: an agent may have several watches of its Node. */
  readonly name: string
  readonly client: ApiClient
  readonly dialect: Dialect
  readonly nodeName: string
  /** The Node; undefined if it does not exist or has not been read. */
  readonly onNode: (node: Node | undefined) => void
  readonly log: Logger
}

/** A server that does not let us see our Node must not keep Services from being served. */
const waitAtMostMs = 10_000

/** Follows this node's own Node object. */
export class NodeWatch implements Component, InformerHandler {
  readonly name: string
  readonly #parts: NodeWatchParts
  readonly #informer: Informer
  #timer: NodeJS.Timeout | undefined
  /** A node tells of itself every few minutes; what is wrong with it is said once. */
  #problems = ''

  constructor(parts: NodeWatchParts) {
    const { name, client, nodeName, log } = parts
    this.name = name
    this.#parts = parts
    this.#informer = new Informer({
      client,
      collection: { resource: { group: '', version: 'v1', resource: 'nodes' } },
      fieldSelector: `metadata.name=${nodeName}`,
      handler: this,
      log,
    })
  }

  async start(scope: { signal: AbortSignal }): Promise<void> {
    this.#timer = setTimeout(() => this.#continueWithout(), waitAtMostMs)
    this.#timer.unref()
    await this.#informer.start(scope)
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#informer.stop()
  }

  health(): Health {
    return this.#informer.health()
  }

  onReplace(items: readonly WireObject[]): void {
    const own = items.find(({ metadata }) => metadata.name === this.#parts.nodeName)
    this.#notify(own)
  }

  onEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: WireObject): void {
    if (object.metadata.name === this.#parts.nodeName) this.#notify(type === 'DELETED' ? undefined : object)
  }

  onProgress(): void {}

  #notify(object: WireObject | undefined): void {
    clearTimeout(this.#timer)
    this.#parts.onNode(object && this.#read(object))
  }

  #read(object: WireObject): Node | undefined {
    const { dialect, log } = this.#parts
    const { value, problems } = parseNode(object, dialect)
    const message = problems.map(formatProblem).join('; ')
    if (message !== '' && message !== this.#problems)
      log.warn(`the Node object of this node has invalid fields: ${message}`)
    this.#problems = message
    return value
  }

  #continueWithout(): void {
    this.#parts.log.warn('this node cannot read its Node object: zone, node addresses and pod networks are unknown')
    this.#parts.onNode(undefined)
  }
}
