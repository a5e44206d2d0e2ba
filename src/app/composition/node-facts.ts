import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import type { Ip } from '../../model/ip.ts'
import type { Node } from '../../model/node.ts'
import type { NodeFacts } from '../../node/proxy/index.ts'

export interface NodeFactsParts {
  readonly nodeName: string
  /** Asked again and again: an operator may change it at any time. */
  readonly isConntrackLiberal: () => Promise<boolean>
  readonly isNetworkOurs: () => Promise<boolean>
  readonly localAddresses: () => ReadonlySet<Ip>
  /** For tests; 10 s. */
  readonly refreshMs?: number
}

/** Links get and lose addresses, and settings of the kernel change, without telling. */
const refreshMs = 10_000

/** What the proxy has to know of this node, put together from its Node object and its links; who follows is told of each change. */
export class NodeFactsWatch implements Component {
  readonly name = 'node-facts'
  readonly #parts: NodeFactsParts
  readonly #refresh: Periodic
  #follow: (facts: NodeFacts) => void = () => {}
  #node: Node | undefined
  #isNodeKnown = false
  #isConntrackLiberal = false
  #isNetworkOurs = false

  constructor(parts: NodeFactsParts) {
    this.#parts = parts
    this.#refresh = new Periodic(() => this.#lookAgain(), {
      intervalMs: parts.refreshMs ?? refreshMs,
      onError: () => {},
    })
  }

  async start(): Promise<void> {
    await this.#lookAgain()
    this.#refresh.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#refresh.stop(scope)
  }

  health(): Health {
    return { level: 'ok', message: '', sinceMs: 0 }
  }

  /** Called as soon as it is known what the API says of this node, and from then on whenever anything changes. */
  follow(listener: (facts: NodeFacts) => void): void {
    this.#follow = listener
  }

  tell(node: Node | undefined): void {
    this.#node = node
    this.#isNodeKnown = true
    this.#publish()
  }

  get now(): NodeFacts {
    const { nodeName, localAddresses } = this.#parts
    return {
      nodeName,
      isConntrackLiberal: this.#isConntrackLiberal,
      isNetworkOurs: this.#isNetworkOurs,
      node: this.#node,
      localAddresses: localAddresses(),
    }
  }

  /** Whether load balancers may send traffic here: not to a node that goes, or that the API no longer knows. */
  get isEligible(): boolean {
    return !this.#isNodeKnown || (this.#node !== undefined && !this.#node.isLeaving)
  }

  async #lookAgain(): Promise<void> {
    this.#isConntrackLiberal = await this.#parts.isConntrackLiberal()
    this.#isNetworkOurs = await this.#parts.isNetworkOurs()
    this.#publish()
  }

  #publish(): void {
    if (this.#isNodeKnown) this.#follow(this.now)
  }
}
