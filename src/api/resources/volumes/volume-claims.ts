import type { Json, JsonObject } from '../../../model/api-object.ts'
import type { Dialect } from '../../../model/dialect.ts'
import { parseQuantity } from '../../../model/quantity.ts'
import type { VolumeNames } from '../../../model/volume-names.ts'
import { type ApiDocument, objectAt, textAt, valueAt, without } from '../../document.ts'
import { forbidden, listReasons } from '../../status.ts'
import type { Store } from '../../store/index.ts'
import { defineKind } from '../define-kind.ts'
import { findClaimFaults, findLimits } from '../pod-limits.ts'
import { claimSpec } from '../pod-spec/claim-rules.ts'
import { column, type Resource, type Transition } from '../resource.ts'
import { accessModesCell } from './access-modes.ts'
import { withFinalizer } from './in-use-protection.ts'
import { amountCell, classNameOf, phaseCell } from './persistent-volumes.ts'
import { findDefaultStorageClass, mayExpand } from './storage-classes.ts'
import { requestedSize, validateClaimStatus, validateClaimUpdate } from './volume-claim-rules.ts'

const names = { group: '', plural: 'persistentvolumeclaims', kind: 'PersistentVolumeClaim' }

/** The kind PersistentVolumeClaim: the storage that Pods of a namespace ask for, until a PersistentVolume is bound to it. */
export function volumeClaims({ volumes }: Dialect, store: Store): Resource {
  return defineKind({
    ...names,
    version: 'v1',
    shortNames: ['pvc'],
    namespaced: true,
    classAnnotation: volumes.storageClass,
    subresources: ['status'],
    defaults: {
      spec: { default: {}, properties: { volumeMode: { default: 'Filesystem' }, resources: { default: {} } } },
      status: { default: {}, properties: { phase: { default: 'Pending' } } },
    },
    selectableFields: { name: ({ metadata }) => metadata.name ?? '' },
    columns: [
      column('Status', phaseCell),
      column('Volume', ({ spec }) => textAt(spec, 'volumeName')),
      column('Capacity', (claim) => (isNamed(claim) ? amountCell(textAt(claim['status'], 'capacity', 'storage')) : '')),
      column('Access Modes', (claim) => (isNamed(claim) ? accessModesCell(claim['status']) : '')),
      column('StorageClass', (claim) => classNameOf(claim, volumes.storageClass)),
      column('VolumeAttributesClass', ({ spec }) => textAt(spec, 'volumeAttributesClassName') || '<unset>'),
      column('VolumeMode', ({ spec }) => textAt(spec, 'volumeMode') || '<unset>', { wide: true }),
    ],
    strategy: {
      showDeleted: (claim) => claim,
      prepareForCreate: (claim) => withSources(claim, undefined),
      prepareForUpdate: withSources,
      admit: async (claim) => withFinalizer(await withDefaultClass(claim, volumes, store), volumes.claimProtection),
      validate: ({ spec }) => claimSpec(objectAt(spec), 'spec'),
      validateUpdate: (claim, old) => validateClaimUpdate(claim, withSources(old, old), volumes),
      validateStatus: validateClaimStatus,
      guard: (transition) => guardSize(transition, volumes, store),
      warnings: (claim) => warningsOf(claim, volumes),
    },
  })
}

/** Checks for a claim that names its volume: that of the binder's choice, or of the user's. */
function isNamed({ spec }: ApiDocument): boolean {
  return textAt(spec, 'volumeName') !== ''
}

/** Implements the admission plugin DefaultStorageClass. An empty name of a class asks for no class. */
async function withDefaultClass(claim: ApiDocument, volumes: VolumeNames, store: Store): Promise<ApiDocument> {
  const spec = objectAt(claim['spec'])
  const isNamedByOld = claim.metadata.annotations?.[volumes.storageClass] !== undefined
  if (isNamedByOld || (spec['storageClassName'] ?? null) !== null) return claim
  const storageClassName = await findDefaultStorageClass(store, volumes)
  return storageClassName === undefined ? claim : { ...claim, spec: { ...spec, storageClassName } }
}

/**
 * Returns a claim with both fields for its data source (KEP-1495): the older one takes claims and snapshots only, and
 * drops all else, unless the claim had it before. A source in another namespace is dropped: its feature is off.
 */
function withSources(claim: ApiDocument, old: ApiDocument | undefined): ApiDocument {
  const given = objectAt(claim['spec'])
  if (!isGiven(given['dataSource']) && !isGiven(given['dataSourceRef'])) return claim
  const oldSpec = objectAt(old?.['spec'])
  const isDistant = textAt(given, 'dataSourceRef', 'namespace') !== '' && !isGiven(oldSpec['dataSourceRef'])
  const spec = isDistant ? without(given, 'dataSourceRef') : given
  const isKept = isGiven(oldSpec['dataSource']) || isGiven(oldSpec['dataSourceRef']) || isGiven(spec['dataSourceRef'])
  return {
    ...claim,
    spec: bothSources(isKept || isUsualSource(spec['dataSource']) ? spec : without(spec, 'dataSource')),
  }
}

function bothSources(spec: JsonObject): JsonObject {
  const { dataSource, dataSourceRef } = spec
  if (isGiven(dataSource) && !isGiven(dataSourceRef)) return { ...spec, dataSourceRef: dataSource }
  if (isGiven(dataSource) || !isGiven(dataSourceRef) || textAt(dataSourceRef, 'namespace') !== '') return spec
  return { ...spec, dataSource: without(objectAt(dataSourceRef), 'namespace') }
}

function isGiven(value: Json | undefined): boolean {
  return value !== undefined && value !== null
}

function isUsualSource(source: Json | undefined): boolean {
  const [group, kind] = [textAt(source, 'apiGroup'), textAt(source, 'kind')]
  if (group === '') return kind === 'PersistentVolumeClaim'
  return group === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot'
}

/** Implements the admission plugins LimitRanger and PersistentVolumeClaimResize. Throws a 403. */
async function guardSize({ old, next }: Transition, volumes: VolumeNames, store: Store): Promise<void> {
  if (next === undefined || (old !== undefined && requestedSize(next) === requestedSize(old))) return
  const name = next.metadata.name ?? ''
  const faults = findClaimFaults(next, await findLimits(store, next.metadata.namespace ?? ''))
  if (faults.length > 0) throw forbidden(names, name, listReasons(faults))
  if (old === undefined || requestedSize(next) < requestedSize(old)) return
  if (textAt(old['status'], 'phase') !== 'Bound')
    throw forbidden(names, name, 'Only bound persistent volume claims can be expanded')
  const storageClass = classNameOf(next, volumes.storageClass)
  const isSame = storageClass !== '' && storageClass === classNameOf(old, volumes.storageClass)
  if (isSame && (await mayExpand(store, storageClass))) return
  const why =
    'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'
  throw forbidden(names, name, why)
}

function warningsOf({ metadata, spec }: ApiDocument, { storageClass }: VolumeNames): readonly string[] {
  const isOld = metadata.annotations?.[storageClass] !== undefined
  const old = `metadata.annotations[${storageClass}]: deprecated since v1.8; use "storageClassName" attribute instead`
  const broken = (['requests', 'limits'] as const).flatMap((side) => {
    const amount = textAt(valueAt(spec, 'resources', side), 'storage') || '0'
    if (parseQuantity(amount) % 1000n === 0n) return []
    return [
      `spec.resources.${side}[storage]: fractional byte value ${JSON.stringify(amount)} is invalid, must be an integer`,
    ]
  })
  return [...(isOld ? [old] : []), ...broken]
}
