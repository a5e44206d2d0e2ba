import { z } from 'zod'
import type { SharedInformer } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { type Ip, parseIp } from '../../model/ip.ts'
import { CollectionFeed } from './collection-feed.ts'

const nodeSchema = z.object({
  metadata: z.object({ annotations: z.record(z.string(), z.string()).optional() }),
  status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional() }).optional(),
})

export interface IngressNodesParts {
  readonly nodes: SharedInformer
  /** The annotation with the addresses on which a Node serves Ingresses. */
  readonly annotation: string
  readonly onChange: () => void
}

/** Follows the Nodes that serve Ingresses: those that are Ready and have the annotation. */
export class IngressNodes implements Component {
  readonly name = 'ingress-nodes'
  readonly #source: Component
  readonly #nodes = new Map<string, readonly Ip[]>()
  readonly #stopping = new AbortController()
  #isListed = false

  constructor({ nodes, annotation, onChange }: IngressNodesParts) {
    const feed = new CollectionFeed({
      read: (object) => readAddresses(object, annotation),
      store: (changed) => {
        for (const [name, addresses] of changed) this.#set(name, addresses)
        if (this.#isListed) onChange()
      },
      onListed: () => {
        this.#isListed = true
        onChange()
      },
    })
    this.#source = nodes.follow(feed)
  }

  /** It never waits for the server. */
  async start(): Promise<void> {
    this.#source.start({ signal: this.#stopping.signal }).catch(() => {})
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#stopping.abort()
    await this.#source.stop(scope)
  }

  health(): Health {
    return this.#source.health()
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
