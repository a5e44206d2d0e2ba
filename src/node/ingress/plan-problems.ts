import type { ObjectKey } from '../../model/api-object.ts'
import { withValues } from './sorted-map.ts'

/** A part of an Ingress that is not served as it is written. */
export interface IngressProblem {
  /** The reason in an Event about it. */
  readonly reason: 'UnreadableIngress' | 'RouteConflict' | 'BackendUnusable' | 'CertificateUnusable'
  readonly message: string
}

/** Problems of some Ingresses from one source; an Ingress without problems is not in it. */
export type ProblemsByIngress = ReadonlyMap<ObjectKey, readonly IngressProblem[]>

/** Limit of the problems that are named of one Ingress, which may have thousands of paths. */
const maxProblems = 50
const noProblems: readonly IngressProblem[] = []

/** Gathers the problems of Ingresses from the sources that find them: the object, a host, a backend, certificates. */
export class PlannedProblems {
  readonly #bySource = new Map<string, ProblemsByIngress>()
  readonly #byIngress = new Map<ObjectKey, Map<string, readonly IngressProblem[]>>()
  readonly #touched = new Set<ObjectKey>()
  #all: ProblemsByIngress = new Map()

  /** Takes all problems that a source finds now. */
  set(source: string, problems: ProblemsByIngress): void {
    const before = this.#bySource.get(source)
    if (before === undefined && problems.size === 0) return
    for (const ingress of before?.keys() ?? []) if (!problems.has(ingress)) this.#put(source, ingress, noProblems)
    for (const [ingress, list] of problems) this.#put(source, ingress, list)
    if (problems.size === 0) this.#bySource.delete(source)
    else this.#bySource.set(source, problems)
  }

  /** All problems by Ingress. The list of an Ingress is the one of the step before unless it differs. */
  finish(): ProblemsByIngress {
    const changed = [...this.#touched].map((ingress) => [ingress, this.#gather(ingress)] as const)
    this.#touched.clear()
    this.#all = withValues(this.#all, new Map(changed))
    return this.#all
  }

  #put(source: string, ingress: ObjectKey, list: readonly IngressProblem[]): void {
    const sources = this.#byIngress.get(ingress) ?? new Map<string, readonly IngressProblem[]>()
    if (JSON.stringify(sources.get(source) ?? noProblems) === JSON.stringify(list)) return
    if (list.length === 0) sources.delete(source)
    else sources.set(source, list)
    if (sources.size === 0) this.#byIngress.delete(ingress)
    else this.#byIngress.set(ingress, sources)
    this.#touched.add(ingress)
  }

  #gather(ingress: ObjectKey): readonly IngressProblem[] | undefined {
    const sources = this.#byIngress.get(ingress)
    if (sources === undefined) return undefined
    const all = [...sources.keys()].sort().flatMap((source) => sources.get(source) ?? noProblems)
    const [next] = all.slice(maxProblems)
    if (next === undefined) return all
    return [...all.slice(0, maxProblems), { ...next, message: `and ${all.length - maxProblems} more problems` }]
  }
}
