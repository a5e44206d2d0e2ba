import type { ObjectKey } from '../../../model/api-object.ts'
import { matchesLabels } from '../../../model/selector.ts'
import type { PodView } from '../zone/cluster-zone.ts'
import type { ZoneSettings } from '../zone/settings.ts'

export type Labels = Readonly<Record<string, string>>

/** Selects the objects of zones by `labels` and `namespace_labels`. Knows all namespaces and, while a zone needs them, the labels of Services. */
export class LabelSelection {
  readonly #namespaces = new Map<string, Labels>()
  readonly #services = new Map<ObjectKey, Labels>()

  namespaces(): readonly string[] {
    return [...this.#namespaces.keys()]
  }

  /** Replaces the labels of a namespace, or removes it where they are undefined. */
  setNamespace(name: string, labels: Labels | undefined): void {
    if (labels === undefined) this.#namespaces.delete(name)
    else this.#namespaces.set(name, labels)
  }

  /** Replaces the labels of a Service, or removes it where they are undefined. Returns whether they differ. */
  setService(key: ObjectKey, labels: Labels | undefined): boolean {
    const before = JSON.stringify(this.#services.get(key))
    if (labels === undefined) this.#services.delete(key)
    else this.#services.set(key, labels)
    return before !== JSON.stringify(labels)
  }

  services(): readonly ObjectKey[] {
    return [...this.#services.keys()]
  }

  selectsNamespace({ namespaceLabels }: ZoneSettings, name: string): boolean {
    const labels = this.#namespaces.get(name)
    return labels !== undefined && (namespaceLabels === undefined || matchesLabels(namespaceLabels, labels))
  }

  selectsService(settings: ZoneSettings, key: ObjectKey): boolean {
    return this.#selects(settings, key.slice(0, key.indexOf('/')), this.#services.get(key))
  }

  selectsPod(settings: ZoneSettings, pod: PodView): boolean {
    return this.#selects(settings, pod.namespace, pod.labels)
  }

  /** Without `namespace_labels` an object alone shows that its namespace exists. */
  #selects(settings: ZoneSettings, namespace: string, labels: Labels | undefined): boolean {
    if (settings.labels !== undefined && (labels === undefined || !matchesLabels(settings.labels, labels))) return false
    return settings.namespaceLabels === undefined || this.selectsNamespace(settings, namespace)
  }
}
