import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'
import type { Store } from '../store/index.ts'
import { comparableAmounts } from './comparable-amounts.ts'
import { checkQuantities } from './pod-spec/resource-rules.ts'
import { readDocument } from './read-document.ts'

/**
 * Implements the admission plugin RuntimeClass: a new Pod gets the overhead, node selector and tolerations of the class
 * that it names. Returns the reason against a Pod that names no known class or contradicts its class.
 */
export async function admitRuntimeClass(store: Store, pod: ApiDocument): Promise<ApiDocument | string> {
  const spec = objectAt(pod['spec'])
  const name = textAt(spec, 'runtimeClassName')
  if (name === '' && (spec['overhead'] ?? undefined) === undefined) return pod
  const runtimeClass = name === '' ? {} : await readDocument(store, { plural: 'runtimeclasses' }, undefined, name)
  if (runtimeClass === undefined) return `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`
  const { podFixed } = objectAt(runtimeClass, 'overhead')
  const fault =
    faultOfOverhead(objectAt(podFixed), spec['overhead'] ?? undefined) ?? faultOfSelector(runtimeClass, spec)
  if (fault !== undefined) return fault
  const overhead = podFixed === undefined ? {} : { overhead: podFixed }
  return { ...pod, spec: { ...spec, ...overhead, ...schedulingOf(objectAt(runtimeClass, 'scheduling'), spec) } }
}

function faultOfOverhead(podFixed: JsonObject, own: Json | undefined): string | undefined {
  if (own === undefined || isDeepStrictEqual(comparableAmounts(podFixed), comparableAmounts(own))) return undefined
  if (Object.keys(podFixed).length > 0)
    return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
  // What is invalid by itself is an error of its field, as in Kubernetes.
  const isInvalid = checkQuantities(objectAt(own), '').length > 0
  return isInvalid ? undefined : 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead'
}

function faultOfSelector(runtimeClass: JsonObject, spec: JsonObject): string | undefined {
  const own = objectAt(spec, 'nodeSelector')
  const selector = Object.entries(objectAt(runtimeClass, 'scheduling', 'nodeSelector'))
  const other = selector.find(([key, value]) => Object.hasOwn(own, key) && own[key] !== value)
  if (other === undefined) return undefined
  const [key, value] = other
  const theirs = `runtimeClass.scheduling.nodeSelector[${key}] = ${textAt(value)}`
  return `conflict: ${theirs}; pod.spec.nodeSelector[${key}] = ${textAt(own[key])}`
}

function schedulingOf(scheduling: JsonObject, spec: JsonObject): JsonObject {
  if (Object.keys(scheduling).length === 0) return {}
  const nodeSelector = { ...objectAt(spec, 'nodeSelector'), ...objectAt(scheduling, 'nodeSelector') }
  const tolerations = mergeTolerations([...listAt(spec, 'tolerations'), ...listAt(scheduling, 'tolerations')])
  return {
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
  }
}

/** Returns the tolerations without those that another one of the list includes; of equal ones the first stays. */
function mergeTolerations(all: readonly Json[]): Json[] {
  return all.filter(
    (toleration, index) =>
      !all.some((other, place) => {
        if (place === index || !includes(other, toleration)) return false
        return place < index || !isDeepStrictEqual(other, toleration)
      }),
  )
}

/** Checks whether a toleration tolerates every taint that another one does, and for as long. */
function includes(wide: Json, narrow: Json): boolean {
  if (isDeepStrictEqual(wide, narrow)) return true
  const [wideKey, wideOperator, wideEffect] = partsOf(wide)
  const [key, operator, effect] = partsOf(narrow)
  if (key !== wideKey && (wideKey !== '' || wideOperator !== 'Exists')) return false
  if (effect !== wideEffect && wideEffect !== '') return false
  if (wideEffect === 'NoExecute' && !lastsAsLong(wide, narrow)) return false
  if (wideOperator === 'Exists') return true
  return operator !== 'Exists' && textAt(wide, 'value') === textAt(narrow, 'value')
}

function lastsAsLong(wide: Json, narrow: Json): boolean {
  const [longest, asked] = [textAt(wide, 'tolerationSeconds'), textAt(narrow, 'tolerationSeconds')]
  return longest === '' || (asked !== '' && Number(asked) <= Number(longest))
}

function partsOf(toleration: Json): readonly [key: string, operator: string, effect: string] {
  return [textAt(toleration, 'key'), textAt(toleration, 'operator') || 'Equal', textAt(toleration, 'effect')]
}
