import { formatAmount, parseAmount } from '../../../model/amount.ts'
import { formatTime } from '../../../model/api-object.ts'
import type { Dialect } from '../../../model/dialect.ts'
import { type ApiDocument, objectAt, textAt } from '../../document.ts'
import type { Schema } from '../../schema/schema.ts'
import { defineKind } from '../define-kind.ts'
import { volumeSourceDefaults } from '../pod-spec/pod-defaults.ts'
import { column, type Resource } from '../resource.ts'
import { accessModesCell } from './access-modes.ts'
import { withFinalizer } from './in-use-protection.ts'
import { validateVolume, validateVolumeUpdate } from './persistent-volume-rules.ts'
import { sourceTypes } from './volume-source-rules.ts'

const spec: Schema = {
  default: {},
  properties: {
    persistentVolumeReclaimPolicy: { default: 'Retain' },
    volumeMode: { default: 'Filesystem' },
    ...volumeSourceDefaults,
  },
}

/** The kind PersistentVolume: a piece of storage of the cluster that one claim at a time can have. */
export function persistentVolumes({ volumes }: Dialect, now: () => Date): Resource {
  return defineKind({
    group: '',
    version: 'v1',
    kind: 'PersistentVolume',
    plural: 'persistentvolumes',
    shortNames: ['pv'],
    namespaced: false,
    subresources: ['status'],
    defaults: { spec, status: { default: {}, properties: { phase: { default: 'Pending' } } } },
    selectableFields: { name: ({ metadata }) => metadata.name ?? '' },
    columns: [
      column('Capacity', ({ spec }) => amountCell(textAt(spec, 'capacity', 'storage'))),
      column('Access Modes', ({ spec }) => accessModesCell(spec)),
      column('Reclaim Policy', ({ spec }) => textAt(spec, 'persistentVolumeReclaimPolicy')),
      column('Status', phaseCell),
      column('Claim', claimCell),
      column('StorageClass', (volume) => classNameOf(volume, volumes.storageClass)),
      column('VolumeAttributesClass', ({ spec }) => textAt(spec, 'volumeAttributesClassName') || '<unset>'),
      column('Reason', ({ status }) => textAt(status, 'reason')),
      column('VolumeMode', ({ spec }) => textAt(spec, 'volumeMode') || '<unset>', { wide: true }),
    ],
    strategy: {
      showDeleted: (volume) => volume,
      prepareForCreate: (volume) => withPhaseTime(volume, volume.metadata.creationTimestamp ?? formatTime(now())),
      prepareStatus: (volume, old) => withTransition(volume, old, formatTime(now())),
      admit: async (volume) => withFinalizer(volume, volumes.volumeProtection),
      validate: (volume) => validateVolume(volume, volumes),
      validateUpdate: validateVolumeUpdate,
      warnings: (volume) => warningsOf(volume, [volumes.storageClass, volumes.mountOptions]),
    },
  })
}

function withPhaseTime(volume: ApiDocument, lastPhaseTransitionTime: string): ApiDocument {
  return { ...volume, status: { ...objectAt(volume['status']), lastPhaseTransitionTime } }
}

/** Sets the time at which the phase changed, unless the writer sets it. */
function withTransition(volume: ApiDocument, old: ApiDocument, now: string): ApiDocument {
  const [phase, oldPhase] = [volume, old].map(({ status }) => textAt(status, 'phase'))
  const [time, oldTime] = [volume, old].map(({ status }) => textAt(status, 'lastPhaseTransitionTime'))
  if (phase === oldPhase) return time === '' && oldTime ? withPhaseTime(volume, oldTime) : volume
  return time === '' || time === oldTime ? withPhaseTime(volume, now) : volume
}

/** Returns the class of a volume or claim: an annotation names it in old objects. */
export function classNameOf({ metadata, spec }: ApiDocument, annotation: string): string {
  return metadata.annotations?.[annotation] ?? textAt(spec, 'storageClassName')
}

export function phaseCell({ metadata, status }: ApiDocument): string {
  return metadata.deletionTimestamp === undefined ? textAt(status, 'phase') : 'Terminating'
}

/** Returns an amount in its canonical form; an absent one is 0. */
export function amountCell(amount: string): string {
  return formatAmount(parseAmount(amount || '0'))
}

function claimCell({ spec }: ApiDocument): string {
  const claim = objectAt(spec)['claimRef'] ?? null
  return claim === null ? '' : `${textAt(claim, 'namespace')}/${textAt(claim, 'name')}`
}

/** The types that programs of Kubernetes have no code for any more. */
const endedTypes: Readonly<Record<string, string>> = {
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
}

function warningsOf({ metadata, spec }: ApiDocument, [storageClass = '', mountOptions = '']: readonly string[]) {
  const old = [
    [storageClass, 'deprecated since v1.8; use "storageClassName" attribute instead'],
    [mountOptions, 'deprecated since v1.31; use "mountOptions" attribute instead'],
  ] as const
  const recycle =
    'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.'
  return [
    ...old
      .filter(([annotation]) => metadata.annotations?.[annotation] !== undefined)
      .map(([annotation, why]) => `metadata.annotations[${annotation}]: ${why}`),
    ...(textAt(spec, 'persistentVolumeReclaimPolicy') === 'Recycle' ? [recycle] : []),
    ...sourceTypes(spec ?? null).flatMap((type) => {
      const why = endedTypes[type]
      return why === undefined ? [] : [`spec.${type === 'storageos' ? 'storageOS' : type}: ${why}`]
    }),
  ]
}
