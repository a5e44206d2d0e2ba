import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../../model/api-object.ts'
import type { VolumeNames } from '../../../model/volume-names.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt, without } from '../../document.ts'
import { checkKept, fields, oneOf, text } from '../../schema/checks.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { checkDnsSubdomain } from '../../schema/names.ts'
import { checkModes, checkPositiveAmount, volumeModes } from '../pod-spec/claim-rules.ts'
import { nodeSelector } from '../pod-spec/scheduling-rules.ts'
import { checkBasicAmount } from './amount-rules.ts'
import { checkSource, sourceTypes } from './volume-source-rules.ts'

/** Returns the errors of a PersistentVolume. */
export function validateVolume(volume: ApiDocument, names: VolumeNames): readonly FieldError[] {
  const spec = objectAt(volume['spec'])
  return [...validateVolumeSpec(spec, 'spec'), ...checkInitiator(volume), ...checkMountOptions(volume, names)]
}

/** Checks the name of an interface that the initiator of an iSCSI volume makes from the names of both sides. */
function checkInitiator({ metadata, spec }: ApiDocument): readonly FieldError[] {
  const [portal, initiator] = [textAt(spec, 'iscsi', 'targetPortal'), valueAt(spec, 'iscsi', 'initiatorName')]
  if (typeof initiator !== 'string' || Buffer.byteLength(`${metadata.name}:${portal}`) <= 64) return []
  const why =
    'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.'
  return [invalidField('spec.iscsi.targetportal', portal, why)]
}

const specFields = fields({
  accessModes: checkModes,
  persistentVolumeReclaimPolicy: oneOf('Delete', 'Recycle', 'Retain'),
  storageClassName: text(checkDnsSubdomain),
  volumeMode: oneOf(...volumeModes),
  nodeAffinity: [checkAffinity],
})

function validateVolumeSpec(spec: Json, path: string): readonly FieldError[] {
  const isLocal = valueAt(spec, 'local') !== undefined && (valueAt(spec, 'nodeAffinity') ?? null) === null
  return [
    ...(listAt(spec, 'accessModes').length === 0 ? [requiredField(`${path}.accessModes`)] : []),
    ...checkCapacity(spec, `${path}.capacity`),
    ...specFields(spec, path),
    ...checkSource(spec, path),
    ...(isLocal ? [requiredField(`${path}.nodeAffinity`, 'Local volume requires node affinity')] : []),
    ...checkRecycling(spec, path),
    ...checkAttributesClass(spec, path),
  ]
}

function checkCapacity(spec: Json, path: string): readonly FieldError[] {
  const capacity = objectAt(spec, 'capacity')
  const names = Object.keys(capacity)
  const isStorage = names.length === 1 && names[0] === 'storage'
  return [
    ...(names.length === 0 ? [requiredField(path)] : []),
    ...(isStorage ? [] : [unsupportedField(path, capacity, ['storage'])]),
    ...names.flatMap((name) => [
      ...checkBasicAmount(textAt(capacity[name]), `${path}[${name}]`),
      ...checkPositiveAmount(textAt(capacity[name]), `${path}[${name}]`),
    ]),
  ]
}

function checkAffinity(value: Json, path: string): readonly FieldError[] {
  const required = valueAt(value, 'required') ?? null
  if (required === null) return [requiredField(`${path}.required`, 'must specify required node constraints')]
  return nodeSelector.flatMap((check) => check(required, `${path}.required`))
}

function checkRecycling(spec: Json, path: string): readonly FieldError[] {
  const folder = textAt(spec, 'hostPath', 'path')
  const isRoot = /^\/+(\.?\/+)*\.?$/.test(folder)
  if (!isRoot || textAt(spec, 'persistentVolumeReclaimPolicy') !== 'Recycle') return []
  return [forbiddenField(`${path}.persistentVolumeReclaimPolicy`, "may not be 'recycle' for a hostPath mount of '/'")]
}

function checkAttributesClass(spec: Json, path: string): readonly FieldError[] {
  const name = valueAt(spec, 'volumeAttributesClassName') ?? undefined
  if (name === undefined) return []
  const at = `${path}.volumeAttributesClassName`
  return [
    ...(name === '' ? [requiredField(at, 'an empty string is disallowed')] : []),
    ...text(checkDnsSubdomain)(name, at),
    ...((valueAt(spec, 'csi') ?? null) === null
      ? [requiredField(`${path}.csi`, 'has to be specified when using volumeAttributesClassName')]
      : []),
  ]
}

const typesWithMountOptions = [
  ...['gcePersistentDisk', 'awsElasticBlockStore', 'glusterfs', 'nfs', 'rbd', 'quobyte', 'iscsi', 'cinder'],
  ...['cephfs', 'azureFile', 'vsphereVolume', 'azureDisk', 'photonPersistentDisk'],
]

function checkMountOptions({ metadata, spec }: ApiDocument, { mountOptions }: VolumeNames): readonly FieldError[] {
  if (metadata.annotations?.[mountOptions] === undefined) return []
  if (sourceTypes(spec ?? null).some((type) => typesWithMountOptions.includes(type))) return []
  return [forbiddenField(`metadata.annotations.${mountOptions}`, 'may not specify mount options for this volume type')]
}

/** Checks the inline volume of a VolumeAttachment: a CSI volume without what is the binder's and the scheduler's. */
export function validateInlineVolume(spec: Json, path: string): readonly FieldError[] {
  const inline = 'in the context of inline volumes'
  const forbidden = ['claimRef', 'capacity', 'nodeAffinity', 'storageClassName']
    .filter((field) => isFilled(valueAt(spec, field)))
    .map((field) => forbiddenField(`${path}.${field}`, `may not be specified ${inline}`))
  const [policy, mode] = [textAt(spec, 'persistentVolumeReclaimPolicy'), textAt(spec, 'volumeMode')]
  return [
    ...forbidden,
    ...((valueAt(spec, 'csi') ?? null) !== null ? [] : [requiredField(`${path}.csi`, `has to be specified ${inline}`)]),
    ...(listAt(spec, 'accessModes').length === 0 ? [requiredField(`${path}.accessModes`)] : []),
    ...fields({ accessModes: checkModes })(spec, path),
    ...(policy === '' || policy === 'Retain'
      ? []
      : [forbiddenField(`${path}.persistentVolumeReclaimPolicy`, `may only be Retain ${inline}`)]),
    ...(mode === '' || mode === 'Filesystem'
      ? []
      : [forbiddenField(`${path}.volumeMode`, `may not specify volumeMode other than Filesystem ${inline}`)]),
    ...checkSource(spec, path),
  ]
}

/** Checks for a value that says something: an empty text or object does not. */
function isFilled(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== '' && !isDeepStrictEqual(value, {})
}

/** Returns the errors of an update: what a volume is does not change. */
export function validateVolumeUpdate(next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const [spec, oldSpec] = [objectAt(next['spec']), objectAt(old['spec'])]
  const affinity = oldSpec['nodeAffinity'] ?? null
  const hasLostClass =
    (oldSpec['volumeAttributesClassName'] ?? null) !== null && (spec['volumeAttributesClassName'] ?? null) === null
  return [
    ...(isSameSource(spec, oldSpec)
      ? []
      : [forbiddenField('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation')]),
    ...checkKept(textAt(spec, 'volumeMode'), textAt(oldSpec, 'volumeMode'), 'volumeMode'),
    ...(affinity === null || isDeepStrictEqual(spec['nodeAffinity'], affinity)
      ? []
      : [invalidField('nodeAffinity', spec['nodeAffinity'] ?? null, affinityRule)]),
    ...(hasLostClass
      ? [forbiddenField('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden')]
      : []),
  ]
}

const affinityRule = 'field is immutable, except for updating from beta label to GA'

/** Compares the types of two volumes. A secret for the expansion of a CSI volume may be added later. */
function isSameSource(spec: Json, oldSpec: Json): boolean {
  const [types, oldTypes] = [sourceTypes(spec), sourceTypes(oldSpec)]
  if (!isDeepStrictEqual(types, oldTypes)) return false
  const addsSecret = !isFilled(valueAt(oldSpec, 'csi', 'controllerExpandSecretRef'))
  const sourceOf = (from: Json, type: string) =>
    type === 'csi' && addsSecret ? without(objectAt(from, type), 'controllerExpandSecretRef') : objectAt(from, type)
  return types.every((type) => isDeepStrictEqual(sourceOf(spec, type), sourceOf(oldSpec, type)))
}
