import { z } from 'zod'
import type { SharedInformer, WireObject } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import type { Labels } from './pod-permission.ts'

export interface NamespaceLabelsParts {
  readonly namespaces: SharedInformer
  /** Called with the name of a namespace whose labels may have changed. */
  readonly onChange: (namespace: string) => void
}

const labelsSchema = z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()).nullish() }) })

/** Follows the labels of all namespaces through the API. */
export class NamespaceLabels implements Component {
  readonly name = 'namespace-labels'
  readonly #source: Component
  readonly #labels = new Map<string, Labels>()

  constructor({ namespaces, onChange }: NamespaceLabelsParts) {
    this.#source = namespaces.follow({
      onReplace: (items) => {
        const before = [...this.#labels.keys()]
        this.#labels.clear()
        for (const item of items) this.#labels.set(item.metadata.name, labelsIn(item))
        for (const name of new Set([...before, ...this.#labels.keys()])) onChange(name)
      },
      onEvent: (type, item) => {
        const { name } = item.metadata
        if (type === 'DELETED') this.#labels.delete(name)
        else this.#labels.set(name, labelsIn(item))
        onChange(name)
      },
      onProgress: () => {},
    })
  }

  /** Returns the labels of a namespace; undefined while they are unknown. */
  of(namespace: string): Labels | undefined {
    return this.#labels.get(namespace)
  }

  /** Resolves after the first list. */
  async start(scope: { signal: AbortSignal }): Promise<void> {
    await this.#source.start(scope)
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#source.stop(scope)
  }

  health(): Health {
    return this.#source.health()
  }
}

/** Returns no labels for an invalid object, so that the namespace allows nothing. */
function labelsIn(item: WireObject): Labels {
  return labelsSchema.safeParse(item).data?.metadata.labels ?? {}
}
