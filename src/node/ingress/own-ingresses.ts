import { isDeepStrictEqual } from 'node:util'
import type { ObjectKey } from '../../model/api-object.ts'
import type { Ingress, IngressClass } from '../../model/ingress.ts'
import type { Parsed, Problem } from '../state/index.ts'

/** The answer to whether an Ingress is served here. */
export type ClassVerdict =
  | { readonly kind: 'ours' }
  | { readonly kind: 'no-class' }
  | { readonly kind: 'unknown-class'; readonly className: string }
  | { readonly kind: 'foreign'; readonly className: string; readonly controller: string }

/** An Ingress of which the object or the class differs; undefined where it was or is none of ours. */
interface IngressTransition {
  readonly key: ObjectKey
  readonly before: Ingress | undefined
  readonly after: Ingress | undefined
  /** Parts of ours that cannot be read. */
  readonly problems: readonly Problem[]
}

export interface ObjectChanges {
  /** New and changed ones; undefined for one that is gone. */
  readonly ingresses?: ReadonlyMap<ObjectKey, Parsed<Ingress> | undefined>
  /** Keys are names. */
  readonly classes?: ReadonlyMap<string, IngressClass | undefined>
}

/** Keeps all Ingresses and classes, and knows which Ingresses are ours: those of a class with our controller. */
export class OwnIngresses {
  readonly controller: string
  readonly #known = new Map<ObjectKey, Parsed<Ingress>>()
  readonly #own = new Map<ObjectKey, Ingress>()
  readonly #classes = new Map<string, IngressClass>()
  readonly #byClass = new Map<string, Set<ObjectKey>>()

  constructor(controller: string) {
    this.controller = controller
  }

  /** Every Ingress that can be read, of foreign classes too. */
  all(): IteratorObject<Ingress> {
    return this.#known.values().flatMap(({ value }) => (value === undefined ? [] : [value]))
  }

  own(): IteratorObject<Ingress> {
    return this.#own.values()
  }

  /** Tells whether a class names our controller: only then an Ingress can be ours. */
  get hasClass(): boolean {
    return this.#classes.values().some(({ controller }) => controller === this.controller)
  }

  classOf({ className }: Ingress): ClassVerdict {
    if (className === undefined) return { kind: 'no-class' }
    const controller = this.#classes.get(className)?.controller
    if (controller === undefined) return { kind: 'unknown-class', className }
    return controller === this.controller ? { kind: 'ours' } : { kind: 'foreign', className, controller }
  }

  update({ ingresses = new Map(), classes = new Map() }: ObjectChanges): readonly IngressTransition[] {
    const touched = new Set(ingresses.keys())
    for (const [key, parsed] of ingresses) this.#take(key, parsed)
    for (const [name, found] of classes) {
      if (found === undefined) this.#classes.delete(name)
      else this.#classes.set(name, found)
      for (const key of this.#byClass.get(name) ?? []) touched.add(key)
    }
    return [...touched].map((key) => this.#judge(key))
  }

  #take(key: ObjectKey, parsed: Parsed<Ingress> | undefined): void {
    const [before, after] = [this.#known.get(key)?.value?.className, parsed?.value?.className]
    if (parsed === undefined) this.#known.delete(key)
    else this.#known.set(key, parsed)
    if (before === after) return
    if (before !== undefined) this.#byClass.get(before)?.delete(key)
    if (after !== undefined) this.#byClass.set(after, (this.#byClass.get(after) ?? new Set()).add(key))
  }

  /** A version that is equal to the one before keeps its place, so that a change of status costs nothing. */
  #judge(key: ObjectKey): IngressTransition {
    const before = this.#own.get(key)
    const known = this.#known.get(key)
    const isOurs = known?.value !== undefined && this.classOf(known.value).kind === 'ours'
    const found = isOurs ? known.value : undefined
    const after = isDeepStrictEqual(before, found) ? before : found
    if (after === undefined) this.#own.delete(key)
    else this.#own.set(key, after)
    return { key, before, after, problems: (isOurs && known?.problems) || [] }
  }
}
