import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../document.ts'

/** What a pod needs from its namespace: `secrets/default/tls`, `configmaps/default/settings`, `serviceaccounts/default/web`. */
export function podReferences(pod: ApiDocument): ReadonlySet<string> {
  const { namespace } = pod.metadata
  const spec = valueAt(pod, 'spec')
  const containers = ['containers', 'initContainers', 'ephemeralContainers'].flatMap((field) => listAt(spec, field))
  const named = [
    ...listAt(spec, 'volumes').flatMap(ofVolume),
    ...containers.flatMap(ofContainer),
    ...listAt(spec, 'imagePullSecrets').map((secret) => `secrets/${textAt(secret, 'name')}`),
    `serviceaccounts/${textAt(spec, 'serviceAccountName') || 'default'}`,
  ]
  return new Set(named.map((each) => each.replace('/', `/${namespace}/`)))
}

function ofVolume(volume: Json): readonly string[] {
  const sources = listAt(volume, 'projected', 'sources')
  return [
    ...reference('secrets', volume, 'secret', 'secretName'),
    ...[volume, ...sources].flatMap((source) => reference('configmaps', source, 'configMap', 'name')),
    ...sources.flatMap((source) => reference('secrets', source, 'secret', 'name')),
  ]
}

function ofContainer(container: Json): readonly string[] {
  const variables = listAt(container, 'env')
  const groups = listAt(container, 'envFrom')
  return [
    ...variables.flatMap((each) => reference('secrets', each, 'valueFrom', 'secretKeyRef', 'name')),
    ...variables.flatMap((each) => reference('configmaps', each, 'valueFrom', 'configMapKeyRef', 'name')),
    ...groups.flatMap((each) => reference('secrets', each, 'secretRef', 'name')),
    ...groups.flatMap((each) => reference('configmaps', each, 'configMapRef', 'name')),
  ]
}

function reference(plural: string, from: Json, ...path: readonly string[]): readonly string[] {
  const name = textAt(from, ...path)
  return name === '' ? [] : [`${plural}/${name}`]
}
