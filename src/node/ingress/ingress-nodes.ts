import { z } from 'zod'
import { type ApiClient, Informer, type InformerTiming } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { type Ip, parseIp } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import { CollectionFeed } from './collection-feed.ts'

const nodeSchema = z.object({
  metadata: z.object({ annotations: z.record(z.string(), z.string()).optional() }),
  status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional() }).optional(),
})

export interface IngressNodesParts {
  readonly client: ApiClient
  /** The annotation with the addresses on which a Node serves Ingresses. */
  readonly annotation: string
  readonly onChange: () => void
  readonly log: Logger
  readonly timing?: Partial<InformerTiming>
}

/** Follows the Nodes that serve Ingresses: those that are Ready and have the annotation. */
export class IngressNodes implements Component {
  readonly name = 'ingress-nodes'
  readonly #informer: Informer
  readonly #nodes = new Map<string, readonly Ip[]>()
  readonly #stopping = new AbortController()
  #isListed = false

  constructor({ client, annotation, onChange, log, timing }: IngressNodesParts) {
    const feed = new CollectionFeed({
      read: (object) => readAddresses(object, annotation),
      store: (nodes) => {
        for (const [name, addresses] of nodes) this.#set(name, addresses)
        if (this.#isListed) onChange()
      },
      onListed: () => {
        this.#isListed = true
        onChange()
      },
    })
    const collection = { resource: { group: '', version: 'v1', resource: 'nodes' } }
    this.#informer = new Informer({ client, collection, handler: feed, log, ...(timing && { timing }) })
  }

  /** It never waits for the server. */
  async start(): Promise<void> {
    this.#informer.start({ signal: this.#stopping.signal }).catch(() => {})
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#informer.stop()
  }

  health(): Health {
    return this.#informer.health()
  }

  /** The place of a node among those that serve, by name; undefined where it is none of them or they are not known yet. */
  rankOf(nodeName: string): number | undefined {
    const rank = [...this.#nodes.keys()].sort().indexOf(nodeName)
    return this.#isListed && rank >= 0 ? rank : undefined
  }

  /** Every address at which Ingresses are served, sorted. */
  addresses(): readonly Ip[] {
    return [...new Set([...this.#nodes.values()].flat())].sort()
  }

  #set(name: string, addresses: readonly Ip[] | undefined): void {
    if (addresses === undefined || addresses.length === 0) this.#nodes.delete(name)
    else this.#nodes.set(name, addresses)
  }
}

function readAddresses(object: unknown, annotation: string): readonly Ip[] {
  const parsed = nodeSchema.safeParse(object)
  if (!parsed.success) return []
  const { metadata, status } = parsed.data
  const isReady = status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false
  const texts = isReady ? (metadata.annotations?.[annotation] ?? '').split(',').slice(0, maxAddresses) : []
  return texts.map((text) => parseIp(text.trim())).filter((ip) => ip !== undefined)
}

/** Addresses that are read from one Node. */
const maxAddresses = 8
