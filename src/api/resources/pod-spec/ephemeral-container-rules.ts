import type { Json } from '../../../model/api-object.ts'
import { listAt, objectAt, textAt } from '../../document.ts'
import { duplicateField, type FieldError, forbiddenField, notFoundField } from '../../schema/field-error.ts'
import { checkCommon, type PodFacts } from './container-rules.ts'

const forbidden = [
  ...['ports', 'resources', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle', 'resizePolicy'],
  ...['restartPolicy', 'restartPolicyRules'],
]
const why = 'cannot be set for an Ephemeral Container'
const none: readonly FieldError[] = []

/**
 * Checks `spec.ephemeralContainers`: containers that join a running Pod, so that nothing can rely on them. `others` are
 * the containers whose names they may not have, and of which one can be their target.
 */
export function checkEphemeralContainers(
  containers: readonly Json[],
  others: readonly Json[],
  path: string,
  facts: PodFacts,
): readonly FieldError[] {
  if (containers.length === 0) return none
  const otherNames = new Set(others.map((container) => textAt(container, 'name')))
  const names = new Set(otherNames)
  return containers.flatMap((container, index) => {
    const at = `${path}.ephemeralContainers[${index}]`
    const [name, target] = [textAt(container, 'name'), textAt(container, 'targetContainerName')]
    const isRepeated = names.size === names.add(name).size
    return [
      ...checkCommon(container, at, facts),
      ...(isRepeated ? [duplicateField(`${at}.name`, name)] : none),
      ...(target === '' || otherNames.has(target) ? none : [notFoundField(`${at}.targetContainerName`, target)]),
      ...forbidden.filter((field) => isSet(container, field)).map((field) => forbiddenField(`${at}.${field}`, why)),
      ...checkSubPaths(container, at),
    ]
  })
}

function isSet(container: Json, field: string): boolean {
  const value = objectAt(container)[field]
  if (value === undefined || value === null || value === '') return false
  return field !== 'resources' || Object.keys(objectAt(value)).length > 0
}

function checkSubPaths(container: Json, path: string): readonly FieldError[] {
  return listAt(container, 'volumeMounts').flatMap((mount, index) =>
    ['subPath', 'subPathExpr']
      .filter((field) => textAt(mount, field) !== '')
      .map((field) => forbiddenField(`${path}.volumeMounts[${index}].${field}`, why)),
  )
}
