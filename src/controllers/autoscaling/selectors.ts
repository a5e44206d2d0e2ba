import { type LabelSelector, matchesLabels } from '../../model/selector.ts'
import type { Pod } from '../objects/pod.ts'
import { labelTerm, labelTerms } from '../runtime/object-index.ts'

interface Entry {
  readonly term: string
  readonly selector: LabelSelector
}

/** The selectors of the targets of all autoscalers, found by one label that they require: most have one of their own. */
export class TargetSelectors {
  readonly #entries = new Map<string, Entry>()
  readonly #byTerm = new Map<string, Set<string>>()

  set(key: string, namespace: string | undefined, selector: LabelSelector): void {
    this.delete(key)
    const equality = selector.find(({ operator, values }) => operator === 'in' && values.length === 1)
    const term = equality ? labelTerm(namespace, equality.key, equality.values[0] ?? '') : anyTerm(namespace)
    this.#entries.set(key, { term, selector })
    const keys = this.#byTerm.get(term) ?? new Set()
    this.#byTerm.set(term, keys.add(key))
  }

  delete(key: string): void {
    const term = this.#entries.get(key)?.term
    if (term === undefined) return
    this.#entries.delete(key)
    const keys = this.#byTerm.get(term)
    keys?.delete(key)
    if (keys?.size === 0) this.#byTerm.delete(term)
  }

  /** Returns the sorted keys of the autoscalers whose targets have any of the pods. */
  having(pods: readonly Pod[]): readonly string[] {
    const found = new Set<string>()
    for (const pod of pods) {
      for (const term of [anyTerm(pod.metadata.namespace), ...labelTerms(pod)]) {
        for (const key of this.#byTerm.get(term) ?? []) {
          if (matchesLabels(this.#entries.get(key)?.selector ?? [], pod.metadata.labels)) found.add(key)
        }
      }
    }
    return [...found].toSorted()
  }
}

function anyTerm(namespace: string | undefined): string {
  return `${namespace ?? ''}/`
}
