import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import type { Ip } from '../../model/ip.ts'
import type { Node } from '../../model/node.ts'
import type { NodeFacts } from '../../node/proxy/index.ts'

export interface NodeFactsParts {
  readonly nodeName: string
  /** Called at each refresh, because an operator may change the setting at any time. */
  readonly isConntrackLiberal: () => Promise<boolean>
  readonly isNetworkOurs: () => Promise<boolean>
  readonly localAddresses: () => ReadonlySet<Ip>
  /** Interval between refreshes, for tests; 10 s by default. */
  readonly refreshMs?: number
}

/** Addresses of links and settings of the kernel change without a notification. */
const refreshMs = 10_000

/** Collects what the proxy needs from the Node object, links and kernel settings, and notifies its follower of each change. */
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

  /** Sets the follower: it is called once the Node object has been read, then at each change. */
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

  /** Whether load balancers may send traffic here: not if the Node is being deleted or no longer exists. */
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
