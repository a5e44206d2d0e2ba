import type { Json } from '../../model/api-object.ts'
import { parseQuantity } from '../../model/quantity.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'
import { duplicateField, type FieldError, forbiddenField, invalidField, requiredField } from '../schema/field-error.ts'
import { qualifiedNameProblems } from '../schema/metadata-rules.ts'
import { checkResourceName, checkStandardName, mayOvercommit } from './pod-spec/resource-rules.ts'

const types = ['Pod', 'Container', 'PersistentVolumeClaim']
const lists = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const
type List = (typeof lists)[number]

/** Returns the errors of a LimitRange: names of resources, and amounts that contradict each other. */
export function validateLimitRange({ spec }: ApiDocument): readonly FieldError[] {
  const items = listAt(spec, 'limits')
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    const [type, path] = [textAt(item, 'type'), `spec.limits[${index}]`]
    const isRepeated = seen.has(type) || !seen.add(type)
    return [
      ...checkType(type, `${path}.type`),
      ...(isRepeated ? [duplicateField(`${path}.type`, type)] : []),
      ...checkItem(item, type, path),
    ]
  })
}

function checkType(type: string, path: string): readonly FieldError[] {
  const problems = qualifiedNameProblems(type)
  if (problems.length > 0) return problems.map((why) => invalidField(path, type, why))
  if (type.includes('/') || types.includes(type)) return []
  return [invalidField(path, type, 'must be a standard limit type or fully qualified')]
}

function checkItem(item: Json, type: string, path: string): readonly FieldError[] {
  const isPod = type === 'Pod'
  const used = lists.filter((list) => !isPod || (list !== 'default' && list !== 'defaultRequest'))
  const checkName = isPod || type === 'Container' ? checkResourceName : checkStandardName
  const names = new Set(used.flatMap((list) => Object.keys(objectAt(item, list))))
  return [
    ...used.flatMap((list) =>
      Object.keys(objectAt(item, list)).flatMap((name) => checkName(name, `${path}.${list}[${name}]`)),
    ),
    ...(isPod ? forbidDefaults(item, path) : []),
    ...(type === 'PersistentVolumeClaim' ? checkStorage(item, path) : []),
    ...[...names].flatMap((name) => checkAmounts(item, name, path)),
  ]
}

function forbidDefaults(item: Json, path: string): readonly FieldError[] {
  return (['default', 'defaultRequest'] as const)
    .filter((list) => Object.keys(objectAt(item, list)).length > 0)
    .map((list) => forbiddenField(`${path}.${list}`, "may not be specified when `type` is 'Pod'"))
}

function checkStorage(item: Json, path: string): readonly FieldError[] {
  if (['min', 'max'].some((list) => objectAt(item, list)['storage'] !== undefined)) return []
  const why = 'either minimum or maximum storage value is required, but neither was provided'
  return [requiredField(`${path}.limits`, why)]
}

/** The pairs of lists whose first amount may not exceed the second, and the list that the error names. */
const orders: readonly (readonly [low: List, high: List, named: List, shown: List, why: string])[] = [
  ['min', 'max', 'min', 'min', 'min value LOW is greater than max value HIGH'],
  [
    'min',
    'defaultRequest',
    'defaultRequest',
    'defaultRequest',
    'min value LOW is greater than default request value HIGH',
  ],
  [
    'defaultRequest',
    'max',
    'defaultRequest',
    'defaultRequest',
    'default request value LOW is greater than max value HIGH',
  ],
  [
    'defaultRequest',
    'default',
    'defaultRequest',
    'defaultRequest',
    'default request value LOW is greater than default limit value HIGH',
  ],
  ['min', 'default', 'default', 'min', 'min value LOW is greater than default value HIGH'],
  ['default', 'max', 'default', 'max', 'default value LOW is greater than max value HIGH'],
]

function checkAmounts(item: Json, name: string, path: string): readonly FieldError[] {
  const isPod = textAt(item, 'type') === 'Pod'
  const textOf = (list: List) => (isPod && list.startsWith('default') ? '' : textAt(objectAt(item, list)[name]))
  const amountOf = (list: List) => (textOf(list) === '' ? undefined : parseQuantity(textOf(list)))
  const inOrder = orders.flatMap(([low, high, named, shown, why]) => {
    const [lowest, highest] = [amountOf(low), amountOf(high)]
    if (lowest === undefined || highest === undefined || lowest <= highest) return []
    const text = why.replace('LOW', textOf(low)).replace('HIGH', textOf(high))
    return [invalidField(`${path}.${named}[${name}]`, textOf(shown), text)]
  })
  const [limit, request] = [amountOf('default'), amountOf('defaultRequest')]
  const isUnequal = !mayOvercommit(name) && limit !== undefined && request !== undefined && limit !== request
  const why = `default value ${textOf('default')} must equal to defaultRequest value ${textOf('defaultRequest')} in ${name}`
  return [
    ...inOrder,
    ...checkRatio(amountOf, textOf('maxLimitRequestRatio'), `${path}.maxLimitRequestRatio[${name}]`),
    ...(isUnequal ? [invalidField(`${path}.defaultRequest[${name}]`, textOf('defaultRequest'), why)] : []),
  ]
}

function checkRatio(amountOf: (list: List) => bigint | undefined, text: string, path: string): readonly FieldError[] {
  const [ratio, least, most] = [amountOf('maxLimitRequestRatio'), amountOf('min'), amountOf('max')]
  if (ratio === undefined) return []
  const possible = least === undefined || most === undefined ? undefined : Number(most) / Number(least)
  return [
    ...(ratio < 1000n ? [invalidField(path, text, `ratio ${text} is less than 1`)] : []),
    ...(possible !== undefined && Number(ratio) / 1000 > possible
      ? [invalidField(path, text, `ratio ${text} is greater than max/min = ${possible.toFixed(6)}`)]
      : []),
  ]
}
