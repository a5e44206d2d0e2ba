import type { ObjectKey } from '../../../model/api-object.ts'
import { matchesLabels } from '../../../model/selector.ts'
import type { PodView } from '../zone/cluster-zone.ts'
import type { ZoneSettings } from '../zone/settings.ts'

export type Labels = Readonly<Record<string, string>>

/** What zones choose by `labels` and `namespace_labels`: the namespaces there are and, while a zone asks for them, the labels of Services. */
export class LabelSelection {
  readonly #namespaces = new Map<string, Labels>()
  readonly #services = new Map<ObjectKey, Labels>()

  namespaces(): readonly string[] {
    return [...this.#namespaces.keys()]
  }

  /** Undefined for one that is not there, also below. */
  setNamespace(name: string, labels: Labels | undefined): void {
    if (labels === undefined) this.#namespaces.delete(name)
    else this.#namespaces.set(name, labels)
  }

  /** Whether the labels differ from what they were. */
  setService(key: ObjectKey, labels: Labels | undefined): boolean {
    const before = JSON.stringify(this.#services.get(key))
    if (labels === undefined) this.#services.delete(key)
    else this.#services.set(key, labels)
    return before !== JSON.stringify(labels)
  }

  services(): readonly ObjectKey[] {
    return [...this.#services.keys()]
  }

  showsNamespace({ namespaceLabels }: ZoneSettings, name: string): boolean {
    const labels = this.#namespaces.get(name)
    return labels !== undefined && (namespaceLabels === undefined || matchesLabels(namespaceLabels, labels))
  }

  showsService(settings: ZoneSettings, key: ObjectKey): boolean {
    return this.#chooses(settings, key.slice(0, key.indexOf('/')), this.#services.get(key))
  }

  showsPod(settings: ZoneSettings, pod: PodView): boolean {
    return this.#chooses(settings, pod.namespace, pod.labels)
  }

  /** Without `namespace_labels` an object tells by itself that its namespace is there. */
  #chooses(settings: ZoneSettings, namespace: string, labels: Labels | undefined): boolean {
    if (settings.labels !== undefined && (labels === undefined || !matchesLabels(settings.labels, labels))) return false
    return settings.namespaceLabels === undefined || this.showsNamespace(settings, namespace)
  }
}
