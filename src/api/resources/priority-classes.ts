import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, textAt, withMetadata } from '../document.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../schema/field-error.ts'
import { forbidden } from '../status.ts'
import type { Store } from '../store/index.ts'
import { defineKind } from './define-kind.ts'
import { findDefaultClass } from './priority-lookup.ts'
import { column, type Resource } from './resource.ts'

/** The classes of every cluster; no other class has a name with their prefix, or a higher value than people may give. */
export const systemPriorityClasses = [
  {
    name: 'system-node-critical',
    value: 2_000_001_000,
    description: 'For pods without which a node does not work and which cannot run on another node.',
  },
  {
    name: 'system-cluster-critical',
    value: 2_000_000_000,
    description: 'For pods without which the cluster does not work; they may move to another node.',
  },
] as const

const systemPrefix = 'system-'
const highestOfPeople = 1_000_000_000
const policies = ['PreemptLowerPriority', 'Never']

export function priorityClasses({ groups }: Dialect, store: Store): Resource {
  const resource = defineKind({
    group: groups.scheduling,
    version: 'v1',
    kind: 'PriorityClass',
    plural: 'priorityclasses',
    shortNames: ['pc'],
    namespaced: false,
    defaults: { value: { default: 0 }, preemptionPolicy: { default: 'PreemptLowerPriority' } },
    columns: [
      { ...column('Value', (priorityClass) => priorityOf(priorityClass)), type: 'integer' },
      { ...column('Global-Default', ({ globalDefault }) => globalDefault === true), type: 'boolean' },
      column('PreemptionPolicy', ({ preemptionPolicy }) => textAt(preemptionPolicy), { wide: true }),
    ],
    strategy: {
      prepareForCreate: (priorityClass) => withMetadata(priorityClass, { generation: 1 }),
      // As in Kubernetes, an update is only compared with what was there.
      validate: (priorityClass, old) => (old === undefined ? validatePriorityClass(priorityClass) : []),
      validateUpdate,
      guard: async ({ next }) => {
        if (next?.['globalDefault'] !== true) return
        const present = await findDefaultClass(store)
        const name = next.metadata.name ?? ''
        if (present === undefined || present.name === name) return
        throw forbidden(
          resource,
          name,
          `PriorityClass ${present.name} is already marked as default. Only one default can exist`,
        )
      },
    },
  })
  return resource
}

function priorityOf({ value }: ApiDocument): number {
  return Number(textAt(value) || 0)
}

function validatePriorityClass(priorityClass: ApiDocument): readonly FieldError[] {
  const policy = textAt(priorityClass['preemptionPolicy'])
  return [
    ...validateValue(priorityClass),
    ...(policy === '' ? [requiredField('preemptionPolicy')] : []),
    ...(policy === '' || policies.includes(policy) ? [] : [unsupportedField('preemptionPolicy', policy, policies)]),
  ]
}

function validateValue(priorityClass: ApiDocument): readonly FieldError[] {
  const [{ name = '' }, value] = [priorityClass.metadata, priorityOf(priorityClass)]
  if (!name.startsWith(systemPrefix))
    return value > highestOfPeople
      ? [forbiddenField('value', `maximum allowed value of a user defined priority is ${highestOfPeople}`)]
      : []
  const why = faultOfSystemClass(name, value, priorityClass['globalDefault'] === true)
  if (why === undefined) return []
  const reserved = `priority class names with '${systemPrefix}' prefix are reserved for system use only. error: ${why}`
  return [forbiddenField('metadata.name', reserved)]
}

function faultOfSystemClass(name: string, value: number, isDefault: boolean): string | undefined {
  const known = systemPriorityClasses.find((each) => each.name === name)
  if (known === undefined) return `${name} is not a known system priority class`
  if (known.value !== value) return `value of ${name} PriorityClass must be ${known.value}`
  return isDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined
}

function validateUpdate(next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const [policy, oldPolicy] = [next['preemptionPolicy'], old['preemptionPolicy']]
  return [
    ...(priorityOf(next) === priorityOf(old) ? [] : [forbiddenField('value', 'may not be changed in an update.')]),
    ...(textAt(policy) === textAt(oldPolicy) ? [] : [invalidField('preemptionPolicy', policy, 'field is immutable')]),
  ]
}
