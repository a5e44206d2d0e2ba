import type { Resource } from './resource.ts'

/** The resources that are served now. Custom resources appear and disappear. */
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

  /**
   * A number that grows with every change of the resources; data derived from the registry is valid while it is
   * unchanged.
   */
  get version(): number {
    return this.#version
  }

  /** Replaces all custom resources; built-in ones stay. */
  replaceCustom(resources: readonly Resource[]): void {
    this.#custom = new Map(resources.map((each) => [registryKey(each.group, each.version, each.plural), each]))
    this.#version++
  }
}

function registryKey(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`
}
