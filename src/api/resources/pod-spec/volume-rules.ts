import type { Json } from '../../../model/api-object.ts'
import { parseQuantity } from '../../../model/quantity.ts'
import { listAt, objectAt, textAt } from '../../document.ts'
import { between, type Check, each, fields, oneOf, required, text } from '../../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
} from '../../schema/field-error.ts'
import { checkDnsLabel, checkDnsSubdomain } from '../../schema/names.ts'
import { claimSpec } from './claim-rules.ts'
import { fieldRef } from './environment-rules.ts'
import type { Volumes } from './mount-rules.ts'
import { descendingPath, unreservedPath, withoutBacksteps } from './path-rules.ts'
import { resourceFieldRef } from './resource-field-rules.ts'

const fileMode = between(0, 0o777, 'must be a number between 0 and 0777 (octal), both inclusive')
/** Checks a number of one byte, as those of partitions and logical units are. */
export const byteNumber = between(0, 255, 'must be between 0 and 255, inclusive')
export const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
]
const volumeField = fieldRef([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
])

const keyToPath: Check[] = [required('key', 'path'), fields({ path: text(unreservedPath), mode: fileMode })]
const dataRules = fields({ defaultMode: fileMode, items: each(...keyToPath) })

const downwardFile: Check[] = [
  required('path'),
  fields({
    path: text(unreservedPath),
    mode: fileMode,
    fieldRef: volumeFieldRef,
    resourceFieldRef: resourceFieldRef('volume'),
  }),
  oneReference,
]

/** Checks a file of the downward API: all labels, all annotations, or one of them by its key as in variables. */
function volumeFieldRef(value: Json, path: string): readonly FieldError[] {
  const field = textAt(value, 'fieldPath')
  if (field === 'metadata.labels' || field === 'metadata.annotations') return []
  return volumeField(value, path)
}

function oneReference(file: Json, path: string): readonly FieldError[] {
  const [field, resource] = [objectAt(file)['fieldRef'], objectAt(file)['resourceFieldRef']]
  if (field && resource)
    return [invalidField(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously')]
  return field || resource ? [] : [requiredField(path, 'one of fieldRef and resourceFieldRef is required')]
}

/** Reports errors in the files of a volume at the volume, as Kubernetes does. */
const downwardItems: Check = (value, path) =>
  listAt(value, 'items').flatMap((file) => downwardFile.flatMap((check) => check(file, path)))

/** The checks of each volume type; a type without an entry is accepted unchecked. */
const sourceRules: Readonly<Record<string, readonly Check[]>> = {
  emptyDir: [sizeLimit],
  hostPath: [required('path'), fields({ path: text(withoutBacksteps), type: oneOf(...hostPathTypes) })],
  gitRepo: [required('repository'), fields({ directory: text(descendingPath) })],
  gcePersistentDisk: [required('pdName'), fields({ partition: byteNumber })],
  awsElasticBlockStore: [required('volumeID'), fields({ partition: byteNumber })],
  secret: [required('secretName'), dataRules],
  nfs: [required('server', 'path'), fields({ path: absolutePath })],
  iscsi: [required('targetPortal', 'iqn'), fields({ lun: byteNumber })],
  glusterfs: [required('endpoints', 'path')],
  persistentVolumeClaim: [required('claimName')],
  rbd: [required('monitors', 'image')],
  flexVolume: [required('driver')],
  cinder: [required('volumeID')],
  cephfs: [required('monitors')],
  flocker: [],
  downwardAPI: [fields({ defaultMode: fileMode }), downwardItems],
  fc: [],
  azureFile: [required('secretName', 'shareName')],
  configMap: [required('name'), dataRules],
  vsphereVolume: [required('volumePath')],
  quobyte: [required('registry', 'volume')],
  azureDisk: [required('diskName', 'diskURI')],
  photonPersistentDisk: [required('pdID')],
  portworxVolume: [required('volumeID')],
  scaleIO: [required('gateway', 'system', 'volumeName')],
  storageos: [],
  projected: [fields({ defaultMode: fileMode }), projectedSources],
  csi: [required('driver'), csiDriver],
  ephemeral: [required('volumeClaimTemplate'), fields({ volumeClaimTemplate: fields({ spec: claimSpec }) })],
  image: [fields({ pullPolicy: oneOf('Always', 'IfNotPresent', 'Never') })],
}

function csiDriver(value: Json, path: string): readonly FieldError[] {
  const driver = textAt(value, 'driver')
  const why = driver.length > 63 ? 'must be no more than 63 characters' : checkDnsSubdomain(driver.toLowerCase())
  return why === undefined ? [] : [invalidField(`${path}.driver`, driver, why)]
}

function sizeLimit(value: Json, path: string): readonly FieldError[] {
  const limit = textAt(value, 'sizeLimit')
  if (limit === '' || parseQuantity(limit) >= 0n) return []
  return [forbiddenField(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
}

export function absolutePath(value: Json, path: string): readonly FieldError[] {
  return textAt(value).startsWith('/') ? [] : [invalidField(path, value, 'must be an absolute path')]
}

export const tokenSeconds = fields({
  expirationSeconds: (value, path) => {
    const why = 'may not specify a duration'
    if (Number(value) < 600) return [invalidField(path, value, `${why} less than 10 minutes`)]
    return Number(value) > 2 ** 32 ? [invalidField(path, value, `${why} larger than 2^32 seconds`)] : []
  },
})

const projection = fields({
  secret: [required('name'), fields({ items: each(...keyToPath) })],
  configMap: [required('name'), fields({ items: each(...keyToPath) })],
  downwardAPI: downwardItems,
  serviceAccountToken: tokenSeconds,
  clusterTrustBundle: [required('path'), fields({ path: text(unreservedPath) })],
})
const projections = [
  'secret',
  'configMap',
  'downwardAPI',
  'serviceAccountToken',
  'clusterTrustBundle',
  'podCertificate',
]

function projectedSources(value: Json, path: string): readonly FieldError[] {
  const paths = new Set<string>()
  return listAt(value, 'sources').flatMap((source, index) => {
    const at = `${path}.sources[${index}]`
    const isMixed = projections.filter((name) => objectAt(source)[name]).length > 1
    return [
      ...projection(source, at),
      ...checkTokenPath(source, path),
      ...repeatedPaths(source, paths).map((file) => invalidField(path, file, 'conflicting duplicate paths')),
      ...(isMixed ? [forbiddenField(at, 'may not specify more than 1 volume type per source')] : []),
    ]
  })
}

/** Reports errors in the path of a token at the volume, as Kubernetes does. */
function checkTokenPath(source: Json, path: string): readonly FieldError[] {
  const token = objectAt(source)['serviceAccountToken']
  if (token === undefined || token === null) return []
  return [required('path'), fields({ path: text(unreservedPath) })].flatMap((check) => check(token, path))
}

/**
 * Returns for each file that an earlier source also creates the name of its source: the object, or the file where there
 * is none.
 */
function repeatedPaths(source: Json, seen: Set<string>): readonly string[] {
  return ['secret', 'configMap', 'downwardAPI'].flatMap((kind) =>
    listAt(source, kind, 'items')
      .map((file) => textAt(file, 'path'))
      .filter((file) => file !== '' && (seen.has(file) || !seen.add(file)))
      .map((file) => textAt(source, kind, 'name') || file),
  )
}

/** Returns the volumes of a Pod that can be mounted, and reports the errors of the others. */
export function checkVolumes(
  volumes: readonly Json[],
  path: string,
): { readonly volumes: Volumes; readonly errors: readonly FieldError[] } {
  const valid = new Map<string, Json>()
  const errors = volumes.flatMap((volume, index) => {
    const name = textAt(volume, 'name')
    const found = checkVolume(volume, `${path}[${index}]`, valid)
    if (found.length === 0) valid.set(name, volume)
    return found
  })
  return { volumes: valid, errors }
}

const namedVolume: Check[] = [required('name'), fields({ name: text(checkDnsLabel) })]

function checkVolume(volume: Json, path: string, taken: Volumes): readonly FieldError[] {
  const object = objectAt(volume)
  const name = textAt(object, 'name')
  const [first, ...others] = Object.keys(sourceRules).filter(
    (kind) => object[kind] !== undefined && object[kind] !== null,
  )
  return [
    ...(first === undefined
      ? [requiredField(path, 'must specify a volume type')]
      : (sourceRules[first] ?? []).flatMap((check) => check(object[first] ?? null, `${path}.${first}`))),
    ...others.map((kind) => forbiddenField(`${path}.${kind}`, 'may not specify more than 1 volume type')),
    ...namedVolume.flatMap((check) => check(volume, path)),
    ...(taken.has(name) ? [duplicateField(`${path}.name`, name)] : []),
  ]
}
