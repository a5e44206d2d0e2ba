import type { Logger } from '../observe/index.ts'
import type { ObjectIdentity } from './identity-scanner.ts'

interface LeftOut {
  readonly identity: ObjectIdentity
  readonly fault: string
}

/** The objects of one informer that are there and could not be taken: too large, or not readable. Each is logged once a version. */
export class LeftOutObjects {
  readonly #resource: string
  readonly #log: Logger
  readonly #objects = new Map<string, LeftOut>()

  constructor(resource: string, log: Logger) {
    this.#resource = resource
    this.#log = log
  }

  get size(): number {
    return this.#objects.size
  }

  add(object: LeftOut): void {
    const key = keyOf(object.identity)
    const known = this.#objects.get(key)
    this.#objects.set(key, object)
    if (known?.identity.resourceVersion === object.identity.resourceVersion) return
    this.#log.warn('an object is left out; the others go on', {
      resource: this.#resource,
      object: key,
      resourceVersion: object.identity.resourceVersion,
      fault: object.fault,
    })
  }

  replace(objects: readonly LeftOut[]): void {
    const keys = new Set(objects.map(({ identity }) => keyOf(identity)))
    for (const key of this.#objects.keys()) if (!keys.has(key)) this.#objects.delete(key)
    for (const object of objects) this.add(object)
  }

  /** For every event: costs nothing while none is left out. */
  forget(identity: Pick<ObjectIdentity, 'name' | 'namespace'>): void {
    if (this.#objects.size > 0) this.#objects.delete(keyOf(identity))
  }

  /** `2 objects left out, such as default/big: ...` */
  describe(): string {
    const [first] = this.#objects
    const count = this.size === 1 ? '1 object' : `${this.size} objects`
    return first === undefined ? 'none left out' : `${count} left out, such as ${first[0]}: ${first[1].fault}`
  }
}

function keyOf({ name, namespace = '' }: Pick<ObjectIdentity, 'name' | 'namespace'>): string {
  return namespace === '' ? name : `${namespace}/${name}`
}
