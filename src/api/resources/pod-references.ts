import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, listAt, textAt, valueAt } from '../document.ts'

/** Returns the objects that a pod needs from its namespace: `secrets/default/tls`, `configmaps/default/settings`. */
export function podReferences(pod: ApiDocument): ReadonlySet<string> {
  const { namespace } = pod.metadata
  const spec = valueAt(pod, 'spec')
  const named = [
    ...ofSpec(spec),
    ...ephemeralClaims(pod),
    `serviceaccounts/${textAt(spec, 'serviceAccountName') || 'default'}`,
  ]
  return new Set(named.map((each) => each.replace('/', `/${namespace}/`)))
}

/**
 * Returns the kind of API object that the pod refers to, `secrets` or `volumes of csi`; undefined where it refers to
 * none. An unknown kind of volume counts as a reference.
 */
export function referredKind(pod: ApiDocument): string | undefined {
  const spec = valueAt(pod, 'spec')
  const accounts = ['serviceAccountName', 'serviceAccount'].some((field) => textAt(spec, field) !== '')
  if (accounts) return 'serviceaccounts'
  const [named] = ofSpec(spec)
  if (named !== undefined) return named.slice(0, named.indexOf('/'))
  if (listAt(spec, 'resourceClaims').length > 0) return 'resourceclaims'
  const [volume] = listAt(spec, 'volumes').flatMap(volumeKinds)
  return volume === undefined ? undefined : `volumes of ${volume}`
}

/** Returns the API reference that a mirror pod must not have, as Kubernetes words it; undefined where there is none. */
export function findMirrorFault(pod: ApiDocument): string | undefined {
  const spec = valueAt(pod, 'spec')
  if (textAt(spec, 'serviceAccountName') !== '') return 'reference service accounts'
  if (ofSpec(spec).some((each) => each.startsWith('secrets/'))) return 'reference secrets'
  const sources = listAt(spec, 'volumes').flatMap((volume) => listAt(volume, 'projected', 'sources'))
  const hasToken = sources.some((source) => isJsonObject(valueAt(source, 'serviceAccountToken')))
  return hasToken ? 'use ServiceAccountToken volume projections' : undefined
}

/** The volume types that a node provides by itself, from its host or from the text of the volume. */
const selfContained: ReadonlySet<string> = new Set(
  [
    ['awsElasticBlockStore', 'azureDisk', 'cephfs', 'cinder', 'downwardAPI', 'emptyDir', 'fc', 'flexVolume', 'flocker'],
    ['gcePersistentDisk', 'gitRepo', 'hostPath', 'image', 'iscsi', 'nfs', 'photonPersistentDisk', 'portworxVolume'],
    ['quobyte', 'rbd', 'scaleIO', 'storageos', 'vsphereVolume'],
  ].flat(),
)

/** Returns the types of a volume's sources that need the API. */
function volumeKinds(volume: Json): readonly string[] {
  const kinds = sourcesOf(volume).filter((kind) => kind !== 'name' && !selfContained.has(kind))
  if (kinds.some((kind) => kind !== 'projected')) return kinds
  return listAt(volume, 'projected', 'sources')
    .flatMap(sourcesOf)
    .filter((kind) => kind !== 'downwardAPI')
}

function sourcesOf(value: Json): readonly string[] {
  return isJsonObject(value) ? Object.keys(value).filter((key) => value[key] !== null) : []
}

function ofSpec(spec: Json | undefined): readonly string[] {
  const containers = ['containers', 'initContainers', 'ephemeralContainers'].flatMap((field) => listAt(spec, field))
  return [
    ...listAt(spec, 'volumes').flatMap(ofVolume),
    ...containers.flatMap(ofContainer),
    ...listAt(spec, 'imagePullSecrets').flatMap((secret) => reference('secrets', secret, 'name')),
  ]
}

/** The field in which each volume type names its Secret. */
const volumeSecrets = [
  ['secret', 'secretName'],
  ['azureFile', 'secretName'],
  ['csi', 'nodePublishSecretRef', 'name'],
  ...['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'].map((kind) => [
    kind,
    'secretRef',
    'name',
  ]),
]

function ofVolume(volume: Json): readonly string[] {
  const sources = listAt(volume, 'projected', 'sources')
  return [
    ...volumeSecrets.flatMap((path) => reference('secrets', volume, ...path)),
    ...[volume, ...sources].flatMap((source) => reference('configmaps', source, 'configMap', 'name')),
    ...sources.flatMap((source) => reference('secrets', source, 'secret', 'name')),
    ...reference('persistentvolumeclaims', volume, 'persistentVolumeClaim', 'claimName'),
  ]
}

/** Returns the claims that a controller makes for the Pod alone: they are named by it and the volume. */
function ephemeralClaims({ metadata, spec }: ApiDocument): readonly string[] {
  const ephemeral = listAt(spec, 'volumes').filter((volume) => isJsonObject(valueAt(volume, 'ephemeral')))
  return ephemeral.map((volume) => `persistentvolumeclaims/${metadata.name}-${textAt(volume, 'name')}`)
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
