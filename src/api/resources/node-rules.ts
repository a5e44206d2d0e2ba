import type { Json } from '../../model/api-object.ts'
import { parseQuantity } from '../../model/quantity.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../document.ts'
import { all, type Check, each, fields } from '../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../schema/field-error.ts'
import { labelValueProblems } from '../schema/metadata-rules.ts'
import { qualifiedName } from './name-checks.ts'
import { taintEffects } from './pod-spec/scheduling-rules.ts'
import { isCountedResource } from './resource-names.ts'

/** Checks the fields that a Node reports about itself, in its status too. */
export function validateNode(node: ApiDocument): readonly FieldError[] {
  const capacity = valueAt(node['status'], 'capacity')
  return [
    // Kubernetes names the taints so, and the swap.
    ...taints(listAt(node['spec'], 'taints'), 'metadata.taints'),
    ...checkAmounts(capacity, 'status.capacity'),
    ...checkAmounts(valueAt(node['status'], 'allocatable') ?? capacity, 'status.allocatable'),
    ...swap(objectAt(node['status'], 'nodeInfo', 'swap'), 'metadata.nodeSwapStatus'),
  ]
}

/** Checks an update of a Node: the provider ID is set only once. */
export function validateNodeUpdate(node: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const [provider, oldProvider] = [node, old].map((each) => textAt(each['spec'], 'providerID'))
  const isNamedAnew = textAt(node['spec'], 'externalID') !== textAt(old['spec'], 'externalID')
  const why = 'node updates may not change providerID except from "" to valid'
  return [
    ...checkAddresses(listAt(node['status'], 'addresses')),
    ...(oldProvider === '' || provider === oldProvider ? [] : [forbiddenField('spec.providerID', why)]),
    ...(isNamedAnew ? [forbiddenField('spec.externalID', 'may not be updated')] : []),
  ]
}

/** Returns a node with its allocatable resources: the whole capacity where they are absent. */
export function fillAllocatable(node: ApiDocument): ApiDocument {
  const { capacity, allocatable } = objectAt(node['status'])
  if (capacity === undefined || allocatable !== undefined) return node
  return { ...node, status: { ...objectAt(node['status']), allocatable: capacity } }
}

const taintRules = all([
  (value, path) => qualifiedName(textAt(value, 'key'), `${path}.key`),
  (value, path) => checkTaintValue(textAt(value, 'value'), `${path}.value`),
  (value, path) => checkEffect(textAt(value, 'effect'), `${path}.effect`),
])

/** Checks that each key has at most one taint of each effect. */
function taints(list: readonly Json[], path: string): readonly FieldError[] {
  const seen = new Set<string>()
  return list.flatMap((taint, index) => {
    const at = `${path}[${index}]`
    const key = `${textAt(taint, 'effect')} ${textAt(taint, 'key')}`
    const isRepeated = seen.has(key) || !seen.add(key)
    return [...taintRules(taint, at), ...(isRepeated ? [duplicateField(at, taint)] : [])]
  })
}

function checkTaintValue(value: string, path: string): readonly FieldError[] {
  const problems = labelValueProblems(value)
  return problems.length === 0 ? [] : [invalidField(path, value, problems.join(';'))]
}

function checkEffect(effect: string, path: string): readonly FieldError[] {
  if (effect === '') return [requiredField(path)]
  return taintEffects.includes(effect) ? [] : [unsupportedField(path, effect, taintEffects)]
}

function checkAmounts(amounts: Json | undefined, path: string): readonly FieldError[] {
  return Object.entries(objectAt(amounts)).flatMap(([name, amount]) =>
    checkAmount(name, textAt(amount), `${path}.${name}`),
  )
}

function checkAmount(name: string, amount: string, path: string): readonly FieldError[] {
  const thousandths = parseQuantity(amount)
  const isWhole = thousandths % 1000n === 0n
  return [
    ...(thousandths < 0n ? [invalidField(path, amount, 'must be greater than or equal to 0')] : []),
    ...(isWhole || !isCountedResource(name) ? [] : [invalidField(path, amount, 'must be an integer')]),
  ]
}

const swap: Check = fields({
  capacity: (value, path) =>
    Number(textAt(value)) > 0 ? [] : [invalidField(path, value, 'must be greater than zero')],
})

function checkAddresses(addresses: readonly Json[]): readonly FieldError[] {
  const seen = new Set<string>()
  const check = each((value, path) => {
    const key = `${textAt(value, 'type')} ${textAt(value, 'address')}`
    return seen.has(key) || !seen.add(key) ? [duplicateField(path, value)] : []
  })
  return check(addresses, 'status.addresses')
}
