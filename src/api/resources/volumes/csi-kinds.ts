import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../../model/api-object.ts'
import type { Dialect } from '../../../model/dialect.ts'
import { parseQuantity } from '../../../model/quantity.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt, withMetadata } from '../../document.ts'
import { checkKept, exactlyOneOf, fields, repeatedItems, strictText } from '../../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
} from '../../schema/field-error.ts'
import { checkDnsSubdomain } from '../../schema/names.ts'
import { defineKind } from '../define-kind.ts'
import { validateLabelSelector } from '../label-selector.ts'
import { tokenSeconds } from '../pod-spec/volume-rules.ts'
import { column, type Resource } from '../resource.ts'
import { withFinalizer } from './in-use-protection.ts'
import { checkParameters, checkProvisioner } from './storage-classes.ts'

/**
 * The kinds by which the programs of a CSI driver, the kubelet and Kubernetes' controllers speak with each other:
 * drivers, their capacity, and the attributes that a volume can change to. Nothing of this server acts by them.
 */
export function csiKinds(dialect: Dialect): readonly Resource[] {
  return [csiDrivers(dialect), storageCapacities(dialect), attributesClasses(dialect)]
}

const driverDefaults = {
  attachRequired: { default: true },
  podInfoOnMount: { default: false },
  storageCapacity: { default: false },
  fsGroupPolicy: { default: 'ReadWriteOnceWithFSType' },
  volumeLifecycleModes: { default: ['Persistent'] },
  requiresRepublish: { default: false },
  seLinuxMount: { default: false },
}

function csiDrivers({ groups }: Dialect): Resource {
  const flag = (name: string, field: string) => ({
    ...column(name, ({ spec }) => valueAt(spec, field) === true),
    type: 'boolean' as const,
  })
  return defineKind({
    group: groups.storage,
    version: 'v1',
    kind: 'CSIDriver',
    plural: 'csidrivers',
    namespaced: false,
    defaults: { spec: { default: {}, properties: driverDefaults } },
    columns: [
      flag('AttachRequired', 'attachRequired'),
      flag('PodInfoOnMount', 'podInfoOnMount'),
      flag('StorageCapacity', 'storageCapacity'),
      column('TokenRequests', audiencesCell),
      flag('RequiresRepublish', 'requiresRepublish'),
      column('Modes', ({ spec }) => listAt(spec, 'volumeLifecycleModes').join(',') || '<none>'),
    ],
    strategy: {
      showDeleted: (driver) => driver,
      needsRevision: 'object',
      prepareForCreate: withLifecycleModes,
      prepareForUpdate: (driver, old) => countChange(withLifecycleModes(driver), old),
      validate: ({ spec }) => driverRules(objectAt(spec), 'spec'),
      validateUpdate: (next, old) => [
        ...checkSpecKept(next, old, 'attachRequired', 'spec.attachedRequired'),
        ...checkSpecKept(next, old, 'volumeLifecycleModes', 'spec.volumeLifecycleModes'),
      ],
    },
  })
}

/** A list of modes without an item is an absent one. */
function withLifecycleModes(driver: ApiDocument): ApiDocument {
  const spec = objectAt(driver['spec'])
  return listAt(spec, 'volumeLifecycleModes').length > 0
    ? driver
    : { ...driver, spec: { ...spec, volumeLifecycleModes: ['Persistent'] } }
}

/** Counts the changes of a driver; unlike other kinds it begins without a count. */
function countChange(driver: ApiDocument, old: ApiDocument): ApiDocument {
  if (isDeepStrictEqual(driver['spec'], old['spec'])) return driver
  return withMetadata(driver, { generation: (old.metadata.generation ?? 0) + 1 })
}

function audiencesCell({ spec }: ApiDocument): string {
  const requests = valueAt(spec, 'tokenRequests')
  if (requests === undefined || requests === null) return '<unset>'
  return listAt(requests)
    .map((request) => textAt(request, 'audience'))
    .join(',')
}

const driverFields = fields({
  fsGroupPolicy: exactlyOneOf('File', 'None', 'ReadWriteOnceWithFSType'),
  nodeAllocatableUpdatePeriodSeconds: (value, path) =>
    Number(value) < 10 ? [invalidField(path, value, 'must be greater than or equal to 10 seconds')] : [],
  volumeLifecycleModes: (value, path) =>
    listAt(value).flatMap((mode) => exactlyOneOf('Persistent', 'Ephemeral')(mode, path)),
})

function driverRules(spec: Json, path: string): readonly FieldError[] {
  const requests = listAt(spec, 'tokenRequests')
  const repeated = repeatedItems(requests.map((request) => textAt(request, 'audience')))
  return [
    ...driverFields(spec, path),
    ...requests.flatMap((request, index) => {
      const at = `${path}.tokenRequests[${index}]`
      return repeated.has(index)
        ? [duplicateField(`${at}.audience`, textAt(request, 'audience'))]
        : tokenSeconds(request, at)
    }),
  ]
}

function checkSpecKept(next: ApiDocument, old: ApiDocument, field: string, path: string): readonly FieldError[] {
  return checkKept(valueAt(next['spec'], field), valueAt(old['spec'], field), path)
}

function storageCapacities({ groups }: Dialect): Resource {
  return defineKind({
    group: groups.storage,
    version: 'v1',
    kind: 'CSIStorageCapacity',
    plural: 'csistoragecapacities',
    namespaced: true,
    // Kubernetes shows this kind as one that it knows nothing of.
    hidesAge: true,
    columns: [{ ...column('Created At', ({ metadata }) => metadata.creationTimestamp ?? ''), type: 'date' }],
    strategy: {
      needsRevision: 'object',
      validate: validateCapacity,
      validateUpdate: validateCapacityUpdate,
    },
  })
}

function validateCapacity({ nodeTopology, storageClassName, capacity }: ApiDocument): readonly FieldError[] {
  const amount = textAt(capacity)
  return [
    ...validateLabelSelector(nodeTopology, 'nodeTopology'),
    ...strictText(checkDnsSubdomain)(textAt(storageClassName), 'storageClassName'),
    ...(parseQuantity(amount || '0') < 0n
      ? [invalidField('capacity', amount, 'must be greater than or equal to 0')]
      : []),
  ]
}

function validateCapacityUpdate(next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  return ['nodeTopology', 'storageClassName'].flatMap((field) => checkKept(next[field], old[field], field))
}

function attributesClasses({ groups, volumes }: Dialect): Resource {
  return defineKind({
    group: groups.storage,
    version: 'v1',
    kind: 'VolumeAttributesClass',
    plural: 'volumeattributesclasses',
    shortNames: ['vac'],
    namespaced: false,
    columns: [column('DriverName', ({ driverName }) => textAt(driverName))],
    strategy: {
      showDeleted: (attributesClass) => attributesClass,
      admit: async (attributesClass) => withFinalizer(attributesClass, volumes.attributesProtection),
      validate: ({ driverName, parameters }) => [
        ...checkProvisioner(textAt(driverName), 'driverName'),
        ...checkParameters(parameters),
        ...(Object.keys(objectAt(parameters)).length === 0
          ? [requiredField('parameters', 'must contain at least one key/value pair')]
          : []),
      ],
      validateUpdate: (next, old) =>
        ['driverName', 'parameters']
          .filter((field) => !isDeepStrictEqual(next[field] ?? null, old[field] ?? null))
          .map((field) => forbiddenField(field, `updates to ${field} are forbidden.`)),
    },
  })
}
