import type { Dialect } from '../../model/dialect.ts'
import type { GroupVersionKind } from '../discovery/groups.ts'
import { listKindOf, type Resource } from '../resources/resource.ts'
import { messageOf } from '../schema/kind-tables.ts'

/** The package prefixes in Kubernetes' documents, by the first label of a type's group; types of the API module have `io.k8s.api`. */
const packages: Readonly<Record<string, string>> = {
  meta: 'io.k8s.apimachinery.pkg.apis',
  metrics: 'io.k8s.metrics.pkg.apis',
  apiextensions: 'io.k8s.apiextensions-apiserver.pkg.apis',
}

/** Returns the name of a Kubernetes type in a document: `core.v1.PodSpec`, in the kubernetes dialect `io.k8s.api.core.v1.PodSpec`. */
export function typeComponentName(typeName: string, dialect: Dialect['name']): string {
  if (dialect === 'platform') return typeName
  const [group = ''] = typeName.split('.', 1)
  return `${Object.hasOwn(packages, group) ? packages[group] : 'io.k8s.api'}.${typeName}`
}

/** Returns the name of a kind in a document: `core.v1.Pod`, `internal.platform.discovery.v1.EndpointSlice`, `com.example.v1.Widget`. */
export function kindComponentName({ group, version, kind }: GroupVersionKind, dialect: Dialect['name']): string {
  const message = dialect === 'kubernetes' ? messageOf(group, version, kind) : undefined
  if (message !== undefined) return typeComponentName(message, dialect)
  return `${group === '' ? 'core' : group.split('.').toReversed().join('.')}.${version}.${kind}`
}

/** Returns the name of a kind's list in a document. */
export function listComponentName(resource: Resource, dialect: Dialect['name']): string {
  const name = kindComponentName(resource, dialect)
  return name.slice(0, -resource.kind.length) + listKindOf(resource)
}
