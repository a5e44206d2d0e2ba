/** The resources that stand for a number of API objects; containers cannot ask for them. */
export const objectCounts: readonly string[] = [
  'pods',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
]

const wholeNumbers: readonly string[] = [...objectCounts, 'services.nodeports', 'services.loadbalancers']

/** Checks whether the name of a resource is one of Kubernetes itself; those of device plugins have another domain. */
export function isNativeResource(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/')
}

/** Checks whether a resource is counted in whole numbers: API objects, and the resources of device plugins. */
export function isCountedResource(name: string): boolean {
  return wholeNumbers.includes(name) || !isNativeResource(name)
}
