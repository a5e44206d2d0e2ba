import type { Json } from '../../../model/api-object.ts'
import type { PolicyScope } from '../../cel/admission/policy-environment.ts'
import { textAt } from '../../document.ts'
import { duplicateField, type FieldError, requiredField, tooManyField } from '../../schema/field-error.ts'
import { qualifiedName } from '../name-checks.ts'
import { checkPolicyExpression, scopeFor } from './policy-expression-rules.ts'

const maxConditions = 64

/**
 * Checks the CEL expressions that decide whether a webhook or a policy looks at a request. `stored` are the conditions
 * that the object had before: a later version of the server may have written them.
 */
export function checkMatchConditions(
  conditions: readonly Json[],
  path: string,
  scope: PolicyScope,
  stored: ReadonlySet<string>,
): readonly FieldError[] {
  const names = conditions.map((condition) => textAt(condition, 'name'))
  return [
    ...(conditions.length > maxConditions ? [tooManyField(path, conditions.length, maxConditions)] : []),
    ...conditions.flatMap((condition, index) => {
      const [at, name] = [`${path}[${index}]`, names[index] ?? '']
      return [
        ...checkCondition(textAt(condition, 'expression').trim(), `${at}.expression`, scope, stored),
        ...(name === '' ? [requiredField(`${at}.name`)] : qualifiedName(name, `${at}.name`)),
        ...(name !== '' && names.indexOf(name) < index ? [duplicateField(`${at}.name`, name)] : []),
      ]
    }),
  ]
}

function checkCondition(
  expression: string,
  path: string,
  scope: PolicyScope,
  stored: ReadonlySet<string>,
): readonly FieldError[] {
  if (expression === '') return [requiredField(path)]
  return checkPolicyExpression(expression, ['bool'], scopeFor(expression, stored, scope), path)
}
