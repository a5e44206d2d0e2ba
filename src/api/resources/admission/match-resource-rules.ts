import type { Json } from '../../../model/api-object.ts'
import { listAt, textAt } from '../../document.ts'
import { all, type Check, each, exactlyOneOf, fields, required } from '../../schema/checks.ts'
import { duplicateField, type FieldError, invalidField } from '../../schema/field-error.ts'
import { checkPathSegment } from '../../schema/names.ts'
import { validateLabelSelector } from '../label-selector.ts'
import { ruleWithOperations } from './operation-rules.ts'

export const selector: Check = (value, path) => validateLabelSelector(value, path)

function checkNames(rule: Json, path: string): readonly FieldError[] {
  const names = listAt(rule, 'resourceNames').map((name) => textAt(name))
  return names.flatMap((name, index) => {
    const at = `${path}.resourceNames[${index}]`
    const problem = checkPathSegment(name)
    return [
      ...(problem === undefined ? [] : [invalidField(at, name, problem)]),
      ...(names.indexOf(name) < index ? [duplicateField(at, name)] : []),
    ]
  })
}

const namedRule: Check = all([checkNames, ruleWithOperations])

/** Checks the MatchResources of a policy or a binding. Absent fields have their defaults by then. */
export const matchResourcesRules: Check = all([
  required('matchPolicy'),
  fields({
    matchPolicy: exactlyOneOf('Equivalent', 'Exact'),
    namespaceSelector: selector,
    objectSelector: selector,
    resourceRules: each(namedRule),
    excludeResourceRules: each(namedRule),
  }),
])
