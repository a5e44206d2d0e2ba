import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../document.ts'
import { type FieldError, forbiddenField, invalidField } from '../schema/field-error.ts'
import { checkDnsSubdomain } from '../schema/names.ts'
import { validatePodSpec } from './pod-spec/pod-spec-rules.ts'

/** Checks a Pod; an image is optional, because a process of the node needs none. */
export function validatePod(pod: ApiDocument, dialect: Dialect): readonly FieldError[] {
  const spec = objectAt(pod['spec'])
  return [
    ...validateDeletionCost(pod, dialect),
    ...validatePodSpec(spec, 'spec', 'pod'),
    ...validateForPod(spec),
    ...validateMadeClaims(pod),
  ]
}

/** Checks the claims that are made for ephemeral volumes: their names, and that no other volume has one of them. */
function validateMadeClaims({ metadata, spec }: ApiDocument): readonly FieldError[] {
  const volumes = listAt(spec, 'volumes')
  const made = new Map<string, { readonly name: string; readonly index: number }>(
    volumes.flatMap((volume, index) => {
      const name = textAt(volume, 'name')
      const isMade = name !== '' && (valueAt(volume, 'ephemeral') ?? null) !== null
      return isMade ? [[`${metadata.name ?? ''}-${name}`, { name, index }] as const] : []
    }),
  )
  const faults = [...made].flatMap(([claim, { name, index }]) => {
    const why = checkDnsSubdomain(claim)
    return why === undefined ? [] : [invalidField(`spec.volumes[${index}].name`, name, `PVC name "${claim}": ${why}`)]
  })
  const used = volumes.flatMap((volume, index) => {
    const claim = textAt(volume, 'persistentVolumeClaim', 'claimName')
    const path = `spec.volumes[${index}].persistentVolumeClaim.claimName`
    return made.has(claim) ? [invalidField(path, claim, notItsClaim)] : []
  })
  return [...faults, ...used]
}

const notItsClaim = 'must not reference a PVC that gets created for an ephemeral volume'

/** Checks a new Pod: it has no ephemeral containers, and no node while scheduling gates are left. */
export function validateNewPod(pod: ApiDocument): readonly FieldError[] {
  const spec = pod['spec']
  const isGated = listAt(spec, 'schedulingGates').length > 0
  return [
    ...(listAt(spec, 'ephemeralContainers').length > 0
      ? [forbiddenField('spec.ephemeralContainers', 'cannot be set on create')]
      : []),
    ...(isGated && textAt(spec, 'nodeName') !== ''
      ? [forbiddenField('spec.nodeName', 'cannot be set until all schedulingGates have been cleared')]
      : []),
  ]
}

function validateDeletionCost(pod: ApiDocument, { annotations }: Dialect): readonly FieldError[] {
  const cost = pod.metadata.annotations?.[annotations.podDeletionCost]
  if (cost === undefined || isInt32(cost)) return []
  return [invalidField(`metadata.annotations[${annotations.podDeletionCost}]`, cost, 'must be a 32bit integer')]
}

function isInt32(text: string): boolean {
  return /^(0|-?[1-9]\d{0,9})$/.test(text) && Number(text) === (Number(text) | 0)
}

/** Checks the fields that a template may have and a Pod may not. */
function validateForPod(spec: ReturnType<typeof objectAt>): readonly FieldError[] {
  return ['containers', 'initContainers'].flatMap((field) =>
    listAt(spec, field).flatMap((container, index) => {
      const image = textAt(container, 'image')
      const why = 'must not have leading or trailing whitespace'
      return image === image.trim() ? [] : [invalidField(`spec.${field}[${index}].image`, image, why)]
    }),
  )
}
