import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../../model/api-object.ts'
import { parseQuantity } from '../../../model/quantity.ts'
import type { VolumeNames } from '../../../model/volume-names.ts'
import { type ApiDocument, objectAt, textAt, valueAt, without } from '../../document.ts'
import { checkKept } from '../../schema/checks.ts'
import { type FieldError, forbiddenField, invalidField, unsupportedField } from '../../schema/field-error.ts'
import { qualifiedNameProblems } from '../../schema/metadata-rules.ts'
import { comparableAmounts } from '../comparable-amounts.ts'
import { isNativeResource } from '../resource-names.ts'
import { checkBasicAmount } from './amount-rules.ts'

const immutable =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'

/** Returns the errors of an update: a claim changes only by its binding, and once bound in size and attributes. */
export function validateClaimUpdate(next: ApiDocument, old: ApiDocument, names: VolumeNames): readonly FieldError[] {
  const isBound = textAt(next['status'], 'phase') === 'Bound'
  const [annotation, oldAnnotation] = [next, old].map(({ metadata }) => metadata.annotations?.[names.storageClass])
  const isMoved = movesClass(next, old, names)
  const kept = {
    volumeName: textAt(old['spec'], 'volumeName') !== '',
    class: !isMoved && !namesClass(next, old, names),
  }
  const [spec, oldSpec] = [next, old].map((claim) => comparedSpec(objectAt(claim['spec']), isBound, kept))
  return [
    ...(isMoved || (annotation ?? '') === (oldAnnotation ?? '')
      ? []
      : [invalidField(`metadata.annotations.${names.storageClass}`, annotation ?? '', 'field is immutable')]),
    ...(isDeepStrictEqual(spec, oldSpec) ? [] : [forbiddenField('spec', immutable)]),
    ...checkShrinking(next, old),
    ...checkKept(textAt(next['spec'], 'volumeMode'), textAt(old['spec'], 'volumeMode'), 'volumeMode'),
    ...checkAttributesClass(next, old),
  ]
}

/** Checks for the move of the class from the annotation of old objects to its field. */
function movesClass(next: ApiDocument, old: ApiDocument, { storageClass }: VolumeNames): boolean {
  const [annotation, oldAnnotation] = [next, old].map(({ metadata }) => metadata.annotations?.[storageClass])
  const [name, oldName] = [next, old].map(({ spec }) => valueAt(spec, 'storageClassName') ?? undefined)
  const isKept = annotation === undefined || annotation === oldAnnotation
  return oldAnnotation !== undefined && oldName === undefined && name === oldAnnotation && isKept
}

/** Checks for a class where the claim had none: the binder sets the default one that came later. */
function namesClass(next: ApiDocument, old: ApiDocument, { storageClass }: VolumeNames): boolean {
  const annotation = old.metadata.annotations?.[storageClass]
  const [name, oldName] = [next, old].map(({ spec }) => valueAt(spec, 'storageClassName') ?? undefined)
  return name !== undefined && oldName === undefined && (annotation === undefined || annotation === name)
}

/** Returns what an update may not change, with amounts and lists in one form. */
function comparedSpec(
  spec: JsonObject,
  isBound: boolean,
  kept: { readonly volumeName: boolean; readonly class: boolean },
): JsonObject {
  const free = [
    ...(kept.volumeName ? [] : ['volumeName']),
    ...(kept.class ? [] : ['storageClassName']),
    ...(isBound ? ['volumeAttributesClassName'] : []),
  ]
  const resources = objectAt(spec, 'resources')
  const requests = comparableAmounts(resources['requests'])
  const asked = isBound ? without(requests, 'storage') : requests
  const limits = comparableAmounts(resources['limits'])
  const compared = { ...without(spec, 'resources', ...free), requests: asked, limits }
  return Object.fromEntries(Object.entries(compared).filter(([, value]) => !isNothing(value)))
}

function isNothing(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true
  return Array.isArray(value) && value.length === 0
}

/** Returns the size that a claim asks for, in thousandths of a byte. */
export function requestedSize({ spec }: ApiDocument): bigint {
  return parseQuantity(textAt(spec, 'resources', 'requests', 'storage') || '0')
}

function checkShrinking(next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const size = requestedSize(next)
  const capacity = parseQuantity(textAt(old['status'], 'capacity', 'storage') || '0')
  if (size >= requestedSize(old) || size > capacity) return []
  return [forbiddenField('spec.resources.requests.storage', 'field can not be less than status.capacity')]
}

function checkAttributesClass(next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const [name, oldName] = [next, old].map(({ spec }) => valueAt(spec, 'volumeAttributesClassName') ?? undefined)
  const current = valueAt(old['status'], 'currentVolumeAttributesClassName') ?? undefined
  if (name === oldName || current === undefined || (name !== undefined && name !== '')) return []
  const what = name === undefined ? 'nil' : 'empty string'
  const why = `update to ${what} is forbidden when status.currentVolumeAttributesClassName is not nil`
  return [forbiddenField('spec.volumeAttributesClassName', why)]
}

const resizeStates = [
  ...['ControllerResizeInProgress', 'ControllerResizeInfeasible', 'NodeResizeInProgress', 'NodeResizeInfeasible'],
  'NodeResizePending',
].toSorted()

/** Returns the errors in the status of a claim: its amounts, and how far an expansion is. */
export function validateClaimStatus({ status }: ApiDocument): readonly FieldError[] {
  const [capacity, allocated] = [objectAt(status, 'capacity'), objectAt(status, 'allocatedResources')]
  return [
    ...Object.entries(capacity).flatMap(([name, amount]) =>
      checkBasicAmount(textAt(amount), `status.capacity[${name}]`),
    ),
    ...Object.entries(objectAt(status, 'allocatedResourceStatuses')).flatMap(([name, state]) => [
      ...checkResource(name, 'status.allocatedResourceStatuses'),
      ...(resizeStates.includes(textAt(state))
        ? []
        : [unsupportedField('status.allocatedResourceStatuses', name, resizeStates)]),
    ]),
    ...Object.entries(allocated).flatMap(([name, amount]) => checkAllocated(name, textAt(amount))),
  ]
}

function checkAllocated(name: string, amount: string): readonly FieldError[] {
  const path = 'status.allocatedResources'
  const unknown = checkResource(name, path)
  if (unknown.length > 0) return unknown
  const negative = checkBasicAmount(amount, `${path}[${name}]`)
  if (negative.length > 0 || parseQuantity(amount || '0') >= 0n) return negative
  return [invalidField(`${path}[${name}]`, amount, 'must be greater than or equal to 0')]
}

function checkResource(name: string, path: string): readonly FieldError[] {
  const problems = qualifiedNameProblems(name)
  if (problems.length > 0) return problems.map((why) => invalidField(path, name, why))
  return isNativeResource(name) && name !== 'storage' ? [unsupportedField(path, name, ['storage'])] : []
}
