import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, textAt } from '../document.ts'
import { type FieldError, forbiddenField, invalidField } from '../schema/field-error.ts'

/** Checks whether the Pod mirrors a static pod of its node: its annotation marks it, whatever the value. */
export function isMirrorPod({ metadata }: ApiDocument, { annotations }: Dialect): boolean {
  return Object.hasOwn(metadata.annotations ?? {}, annotations.mirrorPod)
}

export function validateMirrorPod(pod: ApiDocument, dialect: Dialect): readonly FieldError[] {
  if (!isMirrorPod(pod, dialect) || textAt(pod, 'spec', 'nodeName') !== '') return []
  const value = pod.metadata.annotations?.[dialect.annotations.mirrorPod] ?? ''
  return [invalidField(fieldOf(dialect), value, 'must set spec.nodeName if mirror pod annotation is set')]
}

/** Checks that an update neither makes a Pod a mirror pod nor ends that: its permissions were decided on creation. */
export function validateMirrorPodUpdate(pod: ApiDocument, old: ApiDocument, dialect: Dialect): readonly FieldError[] {
  const { mirrorPod } = dialect.annotations
  const [before, after] = [old, pod].map(({ metadata }) => metadata.annotations?.[mirrorPod])
  if (before === after) return []
  const what = before === undefined ? 'add' : 'remove or update'
  return [forbiddenField(fieldOf(dialect), `may not ${what} mirror pod annotation`)]
}

function fieldOf({ annotations }: Dialect): string {
  return `metadata.annotations[${annotations.mirrorPod}]`
}
