import type { ObjectKey } from '../../model/api-object.ts'
import type { RoutingRefusal } from './driver.ts'
import type { IngressProblem, ProblemsByIngress } from './plan-problems.ts'

/** A part of an Ingress that the driver does not serve. */
interface RefusedPart {
  readonly reason: 'RefusedByProxy'
  readonly message: string
}

type Reported = IngressProblem | RefusedPart

/** Reports each problem of an Ingress once while it lasts. */
export class ReportedProblems {
  readonly #onNew: (ingress: ObjectKey, problem: Reported) => void
  /** Problems as `reason message`, by Ingress. */
  #known = new Map<ObjectKey, ReadonlySet<string>>()
  #all: ReadonlyMap<ObjectKey, readonly Reported[]> = new Map()
  /** Texts of problems that have had their Event, by Ingress. */
  readonly #recorded = new Map<ObjectKey, ReadonlySet<string>>()

  constructor(onNew: (ingress: ObjectKey, problem: Reported) => void) {
    this.#onNew = onNew
  }

  /** Takes all problems of now. */
  replace(planned: ProblemsByIngress, refusals: readonly RoutingRefusal[]): void {
    const all = new Map<ObjectKey, readonly Reported[]>(planned)
    for (const { kind, key, reason } of refusals) {
      if (kind !== 'Ingress') continue
      all.set(key, [...(all.get(key) ?? []), { reason: 'RefusedByProxy', message: reason }])
    }
    const known = new Map<ObjectKey, ReadonlySet<string>>()
    for (const [ingress, list] of all) {
      const before = this.#known.get(ingress)
      for (const problem of list) if (!before?.has(textOf(problem))) this.#onNew(ingress, problem)
      known.set(ingress, new Set(list.map(textOf)))
    }
    this.#known = known
    this.#all = all
  }

  /** The problems of now that this did not return before: those that are to get an Event. */
  takeUnrecorded(): readonly (readonly [ObjectKey, Reported])[] {
    for (const ingress of this.#recorded.keys()) if (!this.#known.has(ingress)) this.#recorded.delete(ingress)
    return [...this.#all].flatMap(([ingress, list]) => {
      const before = this.#recorded.get(ingress)
      this.#recorded.set(ingress, this.#known.get(ingress) ?? new Set())
      return list.filter((problem) => !before?.has(textOf(problem))).map((problem) => [ingress, problem] as const)
    })
  }

  get all(): ReadonlyMap<ObjectKey, readonly Reported[]> {
    return this.#all
  }

  get count(): number {
    return this.#all.values().reduce((sum, list) => sum + list.length, 0)
  }
}

function textOf({ reason, message }: Reported): string {
  return `${reason} ${message}`
}
