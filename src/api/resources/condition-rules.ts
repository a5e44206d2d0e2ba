import type { Json } from '../../model/api-object.ts'
import { listAt, objectAt, textAt } from '../document.ts'
import type { Check } from '../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  invalidField,
  requiredField,
  tooLongField,
  unsupportedField,
} from '../schema/field-error.ts'
import { qualifiedNameProblems } from '../schema/metadata-rules.ts'

const maxReasonLength = 1024
const maxMessageLength = 32 * 1024
const reasonRule =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"

/** Checks a list of `meta.v1.Condition`. */
export const conditions: Check = (value, path) => {
  const types = new Set<string>()
  return listAt(value).flatMap((condition, index) => {
    const [type, at] = [textAt(condition, 'type'), `${path}[${index}]`]
    const isRepeated = types.has(type) || !types.add(type)
    return [...(isRepeated ? [duplicateField(`${at}.type`, type)] : []), ...checkCondition(condition, at)]
  })
}

function checkCondition(condition: Json, path: string): readonly FieldError[] {
  const [type, status, message] = ['type', 'status', 'message'].map((field) => textAt(condition, field))
  const generation = Number(textAt(condition, 'observedGeneration') || 0)
  const isTimed = (objectAt(condition)['lastTransitionTime'] ?? null) !== null
  return [
    ...qualifiedNameProblems(type ?? '').map((why) => invalidField(`${path}.type`, type, why)),
    ...(['True', 'False', 'Unknown'].includes(status ?? '')
      ? []
      : [unsupportedField(`${path}.status`, status, ['False', 'True', 'Unknown'])]),
    ...(generation < 0
      ? [invalidField(`${path}.observedGeneration`, generation, 'must be greater than or equal to zero')]
      : []),
    ...(isTimed ? [] : [requiredField(`${path}.lastTransitionTime`)]),
    ...checkReason(textAt(condition, 'reason'), `${path}.reason`),
    ...((message ?? '').length > maxMessageLength ? [tooLongField(`${path}.message`, maxMessageLength)] : []),
  ]
}

function checkReason(reason: string, path: string): readonly FieldError[] {
  if (reason === '') return [requiredField(path)]
  return [
    ...(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(reason) ? [] : [invalidField(path, reason, reasonRule)]),
    ...(reason.length > maxReasonLength ? [tooLongField(path, maxReasonLength)] : []),
  ]
}
