import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, textAt } from '../document.ts'
import { isMirrorPod } from '../resources/mirror-pod.ts'
import { podReferences } from '../resources/pod-references.ts'

/** Indexes which pods are bound to which node, and which objects those pods use. */
export class BoundPods {
  readonly #dialect: Dialect
  readonly #nodes = new Map<string, Map<string, ReadonlySet<string>>>()
  readonly #nodeOfPod = new Map<string, string>()

  constructor(dialect: Dialect) {
    this.#dialect = dialect
  }

  /** Records a pod; `path` is `namespace/name`, and undefined means deleted. A mirror pod, which its node creates itself, uses nothing. */
  set(path: string, pod: ApiDocument | undefined): void {
    this.#forget(path)
    const node = textAt(pod, 'spec', 'nodeName')
    if (pod === undefined || node === '') return
    this.#nodeOfPod.set(path, node)
    const pods = this.#nodes.get(node) ?? new Map<string, ReadonlySet<string>>()
    this.#nodes.set(node, pods.set(path, isMirrorPod(pod, this.#dialect) ? new Set() : podReferences(pod)))
  }

  isBound(path: string, node: string): boolean {
    return this.#nodeOfPod.get(path) === node
  }

  /** Checks whether a pod on the node uses the object, for example `secrets/default/tls`. */
  isUsed(object: string, node: string): boolean {
    const pods = this.#nodes.get(node)
    return pods?.values().some((references) => references.has(object)) ?? false
  }

  #forget(path: string): void {
    const node = this.#nodeOfPod.get(path)
    if (node === undefined) return
    this.#nodeOfPod.delete(path)
    const pods = this.#nodes.get(node)
    pods?.delete(path)
    if (pods?.size === 0) this.#nodes.delete(node)
  }
}
