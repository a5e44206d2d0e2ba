import type { WireObject } from '../../client/index.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { formatProblem, type Problem } from '../state/index.ts'

/** A NetworkPolicy that this node does not enforce as it is written. */
export interface PolicyProblem {
  readonly policy: ObjectKey
  /** The reason in an Event about it. */
  readonly reason: 'UnreadablePolicy' | 'PolicyRefused'
  /** One sentence for each thing that is wrong. */
  readonly messages: readonly string[]
  /** The uid of the object; undefined if it is not known. */
  readonly uid: string | undefined
}

/** The problems of policies, as they are now. */
export class PolicyProblems {
  readonly #unreadable = new Map<ObjectKey, PolicyProblem>()
  readonly #refused = new Map<ObjectKey, PolicyProblem>()
  readonly #uids = new Map<ObjectKey, string>()
  readonly #onNew: (problem: PolicyProblem) => void

  /** `onNew` is called with each problem that was not there in this form before. */
  constructor(onNew: (problem: PolicyProblem) => void = () => {}) {
    this.#onNew = onNew
  }

  /** The parts of a policy that could not be read; none for one that is sound or gone. */
  setUnreadable(
    policy: ObjectKey,
    problems: readonly Problem[],
    object: Pick<WireObject, 'metadata'> | undefined,
  ): void {
    const uid = object?.metadata.uid
    if (uid === undefined) this.#uids.delete(policy)
    else this.#uids.set(policy, uid)
    const messages = problems.map(formatProblem)
    this.#set(this.#unreadable, policy, { policy, reason: 'UnreadablePolicy', messages, uid })
  }

  /** Takes the reason why the kernel refuses the rules of a policy; undefined when it has them. */
  setRefused(policy: ObjectKey, reason: string | undefined): void {
    const messages = reason === undefined ? [] : [reason]
    this.#set(this.#refused, policy, { policy, reason: 'PolicyRefused', messages, uid: this.#uids.get(policy) })
  }

  get counts(): { readonly unreadable: number; readonly refused: number } {
    return { unreadable: this.#unreadable.size, refused: this.#refused.size }
  }

  refused(): readonly ObjectKey[] {
    return [...this.#refused.keys()]
  }

  list(): readonly PolicyProblem[] {
    return [...this.#unreadable.values(), ...this.#refused.values()]
  }

  #set(table: Map<ObjectKey, PolicyProblem>, policy: ObjectKey, problem: PolicyProblem): void {
    const isSame = JSON.stringify(table.get(policy)?.messages ?? []) === JSON.stringify(problem.messages)
    if (problem.messages.length === 0) table.delete(policy)
    else table.set(policy, problem)
    if (!isSame && problem.messages.length > 0) this.#onNew(problem)
  }
}
