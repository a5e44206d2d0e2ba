import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { AdminAccess } from '../../test/helpers/platnet-server.ts'

/** A node: who it is to its server. */
export interface SimulatedNode {
  readonly name: string
  /** The number of that server. */
  readonly server: number
  readonly access: AdminAccess
}

export interface AgentsOrder {
  readonly nodes: readonly SimulatedNode[]
  /** The server that the changes go to, and the Services whose slices change. */
  readonly writer: AdminAccess
  readonly services: number
  /** How many objects of each kind there are when the watches begin. */
  readonly held: Readonly<Record<string, number>>
}

/** What the simulated agents do next. */
export type AgentsStep =
  | { readonly kind: 'connect'; readonly order: AgentsOrder }
  | { readonly kind: 'rest'; readonly seconds: number }
  | { readonly kind: 'change'; readonly seconds: number; readonly perSecond: number }

export interface AgentsFigures {
  /** Until every watch of every agent had all that there was. */
  readonly connectSeconds?: number
  readonly watches?: number
  /** Per server and change: from its commit until the first half of the server's agents had it, and until the last one had it. */
  readonly latencies?: readonly FanOut[]
  readonly changes?: number
  /** Until the last change was answered. */
  readonly changeSeconds?: number
  /** Events that came to watches, of all changes. */
  readonly events?: number
  /** Watches that the server has ended by now; what they would have got never came. */
  readonly endedWatches?: number
}

/** Times in milliseconds from the commit of each change. */
export interface FanOut {
  readonly medianMs: readonly number[]
  readonly lastMs: readonly number[]
}

/** All simulated agents: one process. */
export class SimulatedAgents {
  readonly #child: ChildProcess = fork(join(import.meta.dirname, 'agents.program.ts'), [], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // As JSON a time without end would be null, and count as none.
    serialization: 'advanced',
  })

  async perform(step: AgentsStep): Promise<AgentsFigures> {
    const answer = once(this.#child, 'message')
    const end = once(this.#child, 'exit').then(() => undefined)
    this.#child.send(step)
    const message = await Promise.race([answer, end])
    if (message === undefined) throw new Error(`the simulated agents ended during ${step.kind}`)
    return message[0] as AgentsFigures
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }
}
