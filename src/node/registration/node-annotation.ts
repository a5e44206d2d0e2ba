import { z } from 'zod'
import { type ApiClient, orAbsent } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { HealthKeeper } from '../../loop/health-keeper.ts'
import { Periodic } from '../../loop/periodic.ts'
import type { Logger } from '../../observe/index.ts'

const nodeSchema = z.object({
  metadata: z.object({ annotations: z.record(z.string(), z.string()).optional() }),
})

export interface NodeAnnotationParts {
  readonly client: ApiClient
  readonly nodeName: string
  readonly key: string
  /** Returns the value that the annotation should have now; undefined: the Node is to be without it. */
  readonly value: () => string | undefined
  readonly log: Logger
  readonly intervalMs?: number
}

const defaultIntervalMs = 60_000
/** While the Node does not exist or the server does not answer. */
const soonMs = 2_000

/** Keeps one annotation of this node's Node object. It stays when the agent stops: what it says stays true. */
export class NodeAnnotation implements Component {
  readonly name = 'node-annotation'
  readonly #parts: NodeAnnotationParts
  readonly #keeping: Periodic
  readonly #health = new HealthKeeper()
  #retry: NodeJS.Timeout | undefined

  constructor(parts: NodeAnnotationParts) {
    this.#parts = parts
    this.#keeping = new Periodic(({ signal }) => this.#keep(signal), {
      intervalMs: parts.intervalMs ?? defaultIntervalMs,
      firstAfterMs: 0,
      onError: (error) => this.#onError(error),
    })
  }

  async start(): Promise<void> {
    this.#keeping.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    clearTimeout(this.#retry)
    await this.#keeping.stop(scope)
  }

  health(): Health {
    return this.#health.current
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { client, nodeName, key } = this.#parts
    const value = this.#parts.value()
    const node = { resource: { group: '', version: 'v1', resource: 'nodes' }, name: nodeName }
    const found = await orAbsent(client.get(node, { signal }))
    if (found === undefined) return this.#runSoon()
    if (nodeSchema.parse(found).metadata.annotations?.[key] !== value) {
      const patch = { metadata: { annotations: { [key]: value ?? null } } }
      await client.patch(node, { kind: 'merge', patch }, { signal })
    }
    this.#health.set('ok')
  }

  #onError(error: unknown): void {
    const warn = () => this.#parts.log.warn('the annotation of this Node could not be kept; tried again', { error })
    this.#health.fail(error, warn)
    this.#runSoon()
  }

  #runSoon(): void {
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#keeping.runSoon(), soonMs).unref()
  }
}
