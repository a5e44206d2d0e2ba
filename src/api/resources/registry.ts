import type { Resource } from './resource.ts'

/** Every resource that is served now. Custom resources come and go. */
export class Registry {
  readonly #resources = new Map<string, Resource>()
  #custom: ReadonlyMap<string, Resource> = new Map()
  #version = 0

  add(resource: Resource): void {
    this.#resources.set(registryKey(resource.group, resource.version, resource.plural), resource)
    this.#version++
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    const key = registryKey(group, version, plural)
    return this.#resources.get(key) ?? this.#custom.get(key)
  }

  all(): readonly Resource[] {
    return [...this.#resources.values(), ...this.#custom.values()]
  }

  /** Grows with every change of what is served: what is derived from the registry can be kept for as long as it stays. */
  get version(): number {
    return this.#version
  }

  /** The custom resources that are served from now on; built-in ones stay. */
  replaceCustom(resources: readonly Resource[]): void {
    this.#custom = new Map(resources.map((each) => [registryKey(each.group, each.version, each.plural), each]))
    this.#version++
  }
}

function registryKey(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`
}
