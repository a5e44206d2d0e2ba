import type { Dialect } from '../../model/dialect.ts'
import type { PortRange } from '../allocation/pools.ts'
import { createServiceAllocator } from '../allocation/service-allocator.ts'
import { guardIpAddress, guardServiceCidr } from '../allocation/service-ranges.ts'
import type { Store } from '../store/index.ts'
import { configMaps } from './config-maps.ts'
import { csiNodes } from './csi-nodes.ts'
import { customResourceDefinitions } from './custom-resource-definitions.ts'
import { endpointSlices } from './endpoint-slices.ts'
import { endpoints } from './endpoints.ts'
import { coreEvents, groupEvents } from './events.ts'
import { ingressClasses } from './ingress-classes.ts'
import { ingresses } from './ingresses.ts'
import { ipAddresses } from './ip-addresses.ts'
import { leases } from './leases.ts'
import { namespaces } from './namespaces.ts'
import { networkPolicies } from './network-policies.ts'
import { nodes } from './nodes.ts'
import { createPodAdmission } from './pod-admission.ts'
import { pods } from './pods.ts'
import type { Resource } from './resource.ts'
import { roles } from './roles.ts'
import { secrets } from './secrets.ts'
import { serviceAccounts } from './service-accounts.ts'
import { serviceCidrs } from './service-cidrs.ts'
import { services } from './services.ts'
import { workloads } from './workloads.ts'

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

export interface BuiltInOptions {
  readonly store: Store
  readonly dialect: Dialect
  readonly nodePortRange: PortRange
  /** Whether new Pods get what their ServiceAccount has for them, where the dialect knows that. */
  readonly admitsAccounts: boolean
  /** Whether deleted namespaces are emptied here, because no namespace controller runs. */
  readonly sweepsNamespaces: boolean
  readonly now: () => Date
  readonly newUid: () => string
}

export function createRegistry(options: BuiltInOptions): Registry {
  const { store, dialect, now } = options
  const { networking } = dialect.groups
  const registry = new Registry()
  const rbac = roles(dialect)
  const namespaced = [
    pods(dialect, { admit: createPodAdmission(options) }),
    services(dialect, createServiceAllocator(store, options)),
    endpoints(),
    endpointSlices(dialect),
    configMaps(),
    secrets(dialect),
    coreEvents(),
    groupEvents(dialect),
    serviceAccounts(dialect),
    leases(dialect),
    networkPolicies(dialect),
    ingresses(dialect, store),
    ...workloads(),
    ...rbac.filter((resource) => resource.namespaced),
  ]
  const clusterWide = [
    nodes(),
    ingressClasses(dialect),
    // Its only client is a kubelet, which knows no other dialect.
    ...(dialect.name === 'kubernetes' ? [csiNodes(dialect)] : []),
    customResourceDefinitions(dialect, store, now),
    ...serviceCidrs(dialect, now, guardServiceCidr(store, networking)),
    ...ipAddresses(dialect, guardIpAddress(store, networking)),
    ...rbac.filter((resource) => !resource.namespaced),
  ]
  const contents = () => registry.all().filter((resource) => resource.namespaced)
  const all = [namespaces({ ...options, sweeps: options.sweepsNamespaces, contents }), ...clusterWide, ...namespaced]
  for (const resource of all) registry.add(resource)
  return registry
}
