import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, objectAt, textAt } from '../document.ts'
import type { Store } from '../store/index.ts'
import { findDefaultClass, findPriorityClass, type PriorityOfClass } from './priority-lookup.ts'

/** Where no class applies, as Kubernetes has it. */
const noClass: PriorityOfClass = { name: '', value: 0, preemptionPolicy: 'PreemptLowerPriority', isDefault: false }

/**
 * Implements the admission plugin Priority: gives a new Pod the priority of its class, or of the default class. Returns
 * the reason against a Pod that names no known class, or another priority than its class has.
 */
export async function admitPriority(
  store: Store,
  pod: ApiDocument,
  isAlwaysSet: boolean,
): Promise<ApiDocument | string> {
  const spec = objectAt(pod['spec'])
  const name = textAt(spec, 'priorityClassName')
  const found = name === '' ? await findDefaultClass(store) : await findPriorityClass(store, name)
  if (name !== '' && found === undefined) return `no PriorityClass with name ${name} was found`
  if (found === undefined && !isAlwaysSet) return pod
  return withPriority(pod, spec, found ?? noClass)
}

function withPriority(pod: ApiDocument, spec: JsonObject, { name, value, preemptionPolicy }: PriorityOfClass) {
  const [priority, policy] = [spec['priority'] ?? undefined, textAt(spec, 'preemptionPolicy')]
  if (priority !== undefined && priority !== value)
    return `the integer value of priority (${textAt(priority)}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`
  if (policy !== '' && preemptionPolicy !== '' && policy !== preemptionPolicy)
    return `the string value of PreemptionPolicy (${policy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`
  const named = name === '' ? {} : { priorityClassName: name }
  const preempts = preemptionPolicy === '' ? {} : { preemptionPolicy }
  return { ...pod, spec: { ...spec, ...named, priority: value, ...preempts } }
}

/** Returns an update of a Pod with the priority that admission gave it, where the update leaves it out. */
export function keepPriority(pod: ApiDocument, old: ApiDocument): ApiDocument {
  const [spec, oldSpec] = [objectAt(pod['spec']), objectAt(old['spec'])]
  const left = ['priority', 'preemptionPolicy'].filter(
    (field) => (spec[field] ?? null) === null && (oldSpec[field] ?? null) !== null,
  )
  if (left.length === 0) return pod
  return { ...pod, spec: { ...spec, ...Object.fromEntries(left.map((field) => [field, oldSpec[field]])) } }
}
