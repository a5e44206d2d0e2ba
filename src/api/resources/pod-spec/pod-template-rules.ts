import type { Json } from '../../../model/api-object.ts'
import { listAt, objectAt, valueAt } from '../../document.ts'
import { type FieldError, forbiddenField } from '../../schema/field-error.ts'
import { checkLabelsAndAnnotations } from '../../schema/metadata-rules.ts'
import { validatePodSpec } from './pod-spec-rules.ts'

/** Checks the Pod template of any kind; `path` is its place, such as `spec.template`. */
export function validatePodTemplate(template: Json | undefined, path: string): readonly FieldError[] {
  const spec = valueAt(template, 'spec') ?? {}
  return [
    ...checkLabelsAndAnnotations(objectAt(template, 'metadata'), path),
    ...validatePodSpec(spec, `${path}.spec`, 'template'),
    ...(listAt(spec, 'ephemeralContainers').length > 0
      ? [forbiddenField(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template')]
      : []),
  ]
}
