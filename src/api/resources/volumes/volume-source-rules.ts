import type { Json } from '../../../model/api-object.ts'
import { listAt, objectAt, textAt, valueAt } from '../../document.ts'
import { type Check, fields, oneOf, required, text } from '../../schema/checks.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { checkDnsLabel, checkDnsSubdomain } from '../../schema/names.ts'
import { checkDriverName } from '../csi-nodes.ts'
import { withoutBacksteps } from '../pod-spec/path-rules.ts'
import { absolutePath, byteNumber, hostPathTypes } from '../pod-spec/volume-rules.ts'

const path = fields({ path: text(withoutBacksteps) })
const namespacedSecret = required('name', 'namespace')
const storageOs = fields({ volumeName: text(checkDnsLabel), volumeNamespace: text(checkDnsLabel) })

/** The checks of the types of a PersistentVolume, in the order in which Kubernetes looks for them. */
const sourceRules: Readonly<Record<string, readonly Check[]>> = {
  hostPath: [required('path'), path, fields({ type: oneOf(...hostPathTypes) })],
  gcePersistentDisk: [
    under('persistentDisk', required('pdName')),
    under('persistentDisk', fields({ partition: byteNumber })),
  ],
  awsElasticBlockStore: [required('volumeID'), fields({ partition: byteNumber })],
  glusterfs: [required('endpoints', 'path'), endpointsNamespace],
  flocker: [oneDataset],
  nfs: [required('server', 'path'), strictAbsolutePath],
  rbd: [required('monitors', 'image'), someOf('monitors')],
  quobyte: [quobyteRegistry, required('volume')],
  cephfs: [required('monitors'), someOf('monitors')],
  iscsi: [required('targetPortal'), iscsiTarget],
  cinder: [required('volumeID'), fields({ secretRef: namespacedSecret })],
  fc: [fibreTargets],
  flexVolume: [required('driver'), flexOptions],
  azureFile: [required('secretName', 'shareName'), presentText('secretNamespace')],
  vsphereVolume: [required('volumePath')],
  photonPersistentDisk: [required('pdID')],
  portworxVolume: [required('volumeID')],
  azureDisk: [required('diskName', 'diskURI'), azureDisk],
  scaleIO: [required('gateway', 'system', 'volumeName')],
  local: [required('path'), path],
  storageos: [required('volumeName'), storageOs, fields({ secretRef: namespacedSecret })],
  csi: [csiSource],
}

/** Returns the names of the types that a PersistentVolume has; a valid one has a single type. */
export function sourceTypes(spec: Json): readonly string[] {
  const object = objectAt(spec)
  return Object.keys(sourceRules).filter((type) => object[type] !== undefined && object[type] !== null)
}

/** Checks that the spec of a PersistentVolume has one type, and the fields of that. */
export function checkSource(spec: Json, at: string): readonly FieldError[] {
  const [first, ...others] = sourceTypes(spec)
  if (first === undefined) return [requiredField(at, 'must specify a volume type')]
  return [
    ...checkType(spec, first, at),
    ...others.flatMap((type) =>
      // Kubernetes forgets to refuse a second type here.
      type === 'flexVolume'
        ? checkType(spec, type, at)
        : [forbiddenField(`${at}.${type === 'cephfs' ? 'cephFS' : type}`, 'may not specify more than 1 volume type')],
    ),
  ]
}

function checkType(spec: Json, type: string, at: string): readonly FieldError[] {
  const source = objectAt(spec, type)
  return (sourceRules[type] ?? []).flatMap((check) => check(source, `${at}.${type}`))
}

/** Reports the errors of a check below another name than that of the field, as Kubernetes does for some types. */
function under(name: string, check: Check): Check {
  return (value, at) => check(value, `${at.slice(0, at.lastIndexOf('.'))}.${name}`)
}

function someOf(field: string): Check {
  return (value, at) =>
    valueAt(value, field) !== undefined && listAt(value, field).length === 0 ? [requiredField(`${at}.${field}`)] : []
}

function presentText(field: string): Check {
  return (value, at) => (valueAt(value, field) === '' ? [requiredField(`${at}.${field}`)] : [])
}

function strictAbsolutePath(value: Json, at: string): readonly FieldError[] {
  return absolutePath(textAt(value, 'path'), `${at}.path`)
}

function endpointsNamespace(value: Json, at: string): readonly FieldError[] {
  const namespace = valueAt(value, 'endpointsNamespace')
  if (typeof namespace !== 'string') return []
  const empty = 'if the endpointnamespace is set, it must be a valid namespace name'
  const why = namespace === '' ? empty : checkDnsLabel(namespace)
  return why === undefined ? [] : [invalidField(`${at}.endpointsNamespace`, namespace, why)]
}

function oneDataset(value: Json, at: string): readonly FieldError[] {
  const [name, uuid] = [textAt(value, 'datasetName'), textAt(value, 'datasetUUID')]
  const both = 'datasetName and datasetUUID can not be specified simultaneously'
  return [
    ...(name === '' && uuid === '' ? [requiredField(at, 'one of datasetName and datasetUUID is required')] : []),
    ...(name !== '' && uuid !== '' ? [invalidField(at, 'resource', both)] : []),
    ...(name.includes('/') ? [invalidField(`${at}.datasetName`, name, "must not contain '/'")] : []),
  ]
}

const hostPort = /^(\[[^\]]*\]|[^:[\]]*):[^:[\]]*$/

function quobyteRegistry(value: Json, at: string): readonly FieldError[] {
  const registry = textAt(value, 'registry')
  const rule = 'must be a host:port pair or multiple pairs separated by commas'
  if (registry === '') return [requiredField(`${at}.registry`, rule)]
  if (textAt(value, 'tenant').length >= 65)
    return [requiredField(`${at}.tenant`, 'must be a UUID and may not exceed a length of 64 characters')]
  const bad = registry.split(',').filter((pair) => !hostPort.test(pair))
  return bad.map(() => invalidField(`${at}.registry`, registry, rule))
}

const targetForms: readonly (readonly [prefix: string, form: RegExp])[] = [
  ['iqn', /iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$/],
  ['eui', /^eui.[A-Za-z0-9]{16}$/],
  ['naa', /^naa.[A-Za-z0-9]{32}$/],
]

function isTargetName(name: string): boolean {
  return targetForms.some(([prefix, form]) => name.startsWith(prefix) && form.test(name))
}

function iscsiTarget(value: Json, at: string): readonly FieldError[] {
  const [iqn, initiator] = [textAt(value, 'iqn'), valueAt(value, 'initiatorName')]
  const needsSecret = ['chapAuthDiscovery', 'chapAuthSession'].some((field) => valueAt(value, field) === true)
  const secret = valueAt(value, 'secretRef') ?? null
  return [
    ...(iqn === '' ? [requiredField(`${at}.iqn`)] : []),
    ...(iqn === '' || isTargetName(iqn) ? [] : [invalidField(`${at}.iqn`, iqn, 'must be valid format')]),
    ...byteNumber(valueAt(value, 'lun') ?? 0, `${at}.lun`),
    ...(needsSecret && secret === null ? [requiredField(`${at}.secretRef`)] : []),
    ...(secret === null ? [] : required('name')(secret, `${at}.secretRef`)),
    ...(typeof initiator !== 'string' || isTargetName(initiator)
      ? []
      : [invalidField(`${at}.initiatorname`, initiator, 'must be valid format')]),
  ]
}

function fibreTargets(value: Json, at: string): readonly FieldError[] {
  const [names, ids] = [listAt(value, 'targetWWNs'), listAt(value, 'wwids')]
  const unit = valueAt(value, 'lun') ?? undefined
  const either = 'must specify either targetWWNs or wwids, but not both'
  const both = 'targetWWNs and wwids can not be specified simultaneously'
  return [
    ...(names.length === 0 && ids.length === 0 ? [requiredField(`${at}.targetWWNs`, either)] : []),
    ...(names.length > 0 && ids.length > 0 ? [invalidField(`${at}.targetWWNs`, [...names], both)] : []),
    ...(names.length > 0 && unit === undefined
      ? [requiredField(`${at}.lun`, 'lun is required if targetWWNs is specified')]
      : []),
    ...(names.length > 0 && unit !== undefined ? byteNumber(unit, `${at}.lun`) : []),
  ]
}

function flexOptions(value: Json, at: string): readonly FieldError[] {
  return Object.keys(objectAt(value, 'options'))
    .filter((key) => /\.(kubernetes|k8s)\.io$/.test(`.${key.split('/', 1)[0]?.toLowerCase()}`))
    .map((key) => invalidField(`${at}.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved'))
}

function azureDisk(value: Json, at: string): readonly FieldError[] {
  const [kind, uri] = [textAt(value, 'kind'), textAt(value, 'diskURI')]
  const managed = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'
  const blob = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'
  const [start, form] = kind === 'Managed' ? ['/subscriptions/', managed] : ['https://', blob]
  return [
    ...fields({
      cachingMode: oneOf('None', 'ReadOnly', 'ReadWrite'),
      kind: oneOf('Dedicated', 'Managed', 'Shared'),
    })(value, at),
    ...(uri.startsWith(start) ? [] : [unsupportedField(`${at}.diskURI`, uri, [form])]),
  ]
}

const secretNames = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
]
const namedSecret: Check = (value, at) => [
  ...namespacedSecret(value, at),
  ...fields({ name: text(checkDnsSubdomain), namespace: text(checkDnsLabel) })(value, at),
]

function csiSource(value: Json, at: string): readonly FieldError[] {
  return [
    ...checkDriverName(textAt(value, 'driver'), `${at}.driver`),
    ...required('volumeHandle')(value, at),
    ...fields(Object.fromEntries(secretNames.map((name) => [name, namedSecret])))(value, at),
  ]
}
