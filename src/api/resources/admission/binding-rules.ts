import type { Json } from '../../../model/api-object.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../../document.ts'
import { exactlyOneOf, fields } from '../../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { checkDnsSubdomain, checkPathSegment } from '../../schema/names.ts'
import { matchResourcesRules, selector } from './match-resource-rules.ts'

const actions = ['Audit', 'Deny', 'Warn']

/** Checks a ValidatingAdmissionPolicyBinding. */
export function checkBinding({ spec = null }: ApiDocument): readonly FieldError[] {
  return [
    ...checkPolicyName(textAt(spec, 'policyName'), 'spec.policyName'),
    ...fields({ paramRef: checkParamRef, matchResources: matchResourcesRules })(spec, 'spec'),
    ...checkActions(listAt(spec, 'validationActions'), 'spec.validationActions'),
  ]
}

function checkPolicyName(name: string, path: string): readonly FieldError[] {
  if (name === '') return [requiredField(path)]
  const problem = checkDnsSubdomain(name)
  return problem === undefined ? [] : [invalidField(path, name, problem)]
}

function checkParamRef(paramRef: Json, path: string): readonly FieldError[] {
  const name = textAt(paramRef, 'name')
  const hasSelector = valueAt(paramRef, 'selector') !== undefined
  const both = name !== '' && hasSelector
  const exclusive = (field: string) => forbiddenField(`${path}.${field}`, 'name and selector are mutually exclusive')
  const problem = name === '' ? undefined : checkPathSegment(name)
  return [
    ...(problem === undefined ? [] : [invalidField(`${path}.name`, name, problem)]),
    ...(both ? [exclusive('name')] : []),
    ...fields({ selector })(paramRef, path),
    ...(both ? [exclusive('selector')] : []),
    ...(name === '' && !hasSelector ? [requiredField(path, 'one of name or selector must be specified')] : []),
    ...checkNotFoundAction(paramRef, `${path}.parameterNotFoundAction`),
  ]
}

function checkNotFoundAction(paramRef: Json, path: string): readonly FieldError[] {
  const action = textAt(paramRef, 'parameterNotFoundAction')
  return action === '' ? [requiredField(path)] : exactlyOneOf('Deny', 'Allow')(action, path)
}

function checkActions(list: readonly Json[], path: string): readonly FieldError[] {
  const both =
    'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)'
  return [
    ...list.flatMap((action, index) => [
      ...(actions.includes(textAt(action)) ? [] : [unsupportedField(`${path}[${index}]`, action, actions)]),
      ...(list.indexOf(action) < index ? [duplicateField(`${path}[${index}]`, action)] : []),
    ]),
    ...(list.includes('Deny') && list.includes('Warn') ? [invalidField(path, list, both)] : []),
    ...(list.length === 0 ? [requiredField(path, 'at least one validation action is required')] : []),
  ]
}
