import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt, valueAt, without } from '../document.ts'
import { type FieldError, forbiddenField, invalidField } from '../schema/field-error.ts'
import { comparableAmounts } from './comparable-amounts.ts'
import { isMirrorPod } from './mirror-pod.ts'
import { completePodSpec } from './pod-spec/pod-defaults.ts'
import { qosClassOf } from './pod-spec/qos-class.ts'
import type { PartWrite } from './resource.ts'

/** Writes of `/ephemeralcontainers`, by which containers join a Pod (`kubectl debug`). None is changed or removed. */
export function ephemeralContainers(dialect: Dialect): PartWrite {
  return {
    merge: (revised, old) => {
      const added = objectAt(revised['spec'])['ephemeralContainers']
      const spec = without(objectAt(old['spec']), 'ephemeralContainers')
      return withSpec(old, added === undefined ? spec : { ...spec, ephemeralContainers: added })
    },
    validateUpdate: (next, old) => {
      if (isMirrorPod(old, dialect)) return [forbiddenField('', 'static pods do not support ephemeral containers')]
      const path = 'spec.ephemeralContainers'
      const present = new Map(listAt(next['spec'], 'ephemeralContainers').map((each) => [textAt(each, 'name'), each]))
      return listAt(old['spec'], 'ephemeralContainers').flatMap((container) => {
        const name = textAt(container, 'name')
        const kept = present.get(name)
        const quoted = `existing ephemeral containers ${JSON.stringify(name)}`
        if (kept === undefined) return [forbiddenField(path, `${quoted} may not be removed\n`)]
        return isDeepStrictEqual(kept, container) ? [] : [forbiddenField(path, `${quoted} may not be changed\n`)]
      })
    },
  }
}

const lists = ['containers', 'initContainers'] as const

/** Writes of `/resize`, by which the CPU and memory of containers change. The node of the Pod carries them out. */
export function resize(dialect: Dialect, admit?: PartWrite['admit']): PartWrite {
  return { admit, merge: mergeResources, validateUpdate: (next, old) => validateResize(next, old, dialect) }
}

/** Returns the Pod with the resources of the revised one. Other containers than before stay, for the check to name. */
function mergeResources(revised: ApiDocument, old: ApiDocument): ApiDocument {
  const [spec, oldSpec] = [objectAt(revised['spec']), objectAt(old['spec'])]
  const isSame = lists.every((list) => isDeepStrictEqual(namesOf(spec, list), namesOf(oldSpec, list)))
  if (!isSame) return withSpec(old, spec)
  const merged = lists.filter((list) => listAt(oldSpec, list).length > 0)
  const resized = merged.map((list) => [
    list,
    listAt(oldSpec, list).map((each, index) => withResources(each, listAt(spec, list)[index])),
  ])
  return withSpec(old, { ...oldSpec, ...Object.fromEntries(resized) })
}

function withResources(old: Json, revised: Json | undefined): Json {
  const fields = ['resources', 'resizePolicy'].flatMap((field) => {
    const value = valueAt(revised, field)
    return value === undefined ? [] : [[field, value] as const]
  })
  return { ...without(objectAt(old), 'resources', 'resizePolicy'), ...Object.fromEntries(fields) }
}

function namesOf(spec: Json, list: string): readonly string[] {
  return listAt(spec, list).map((container) => textAt(container, 'name'))
}

function withSpec(old: ApiDocument, spec: JsonObject): ApiDocument {
  return { ...old, spec: completePodSpec(spec, 'pod') }
}

function validateResize(next: ApiDocument, old: ApiDocument, dialect: Dialect): readonly FieldError[] {
  const [spec, oldSpec] = [objectAt(next['spec']), objectAt(old['spec'])]
  const refusal = refusalOf(spec, old, dialect)
  if (refusal !== undefined) return [forbiddenField('', refusal)]
  const reordered = lists.flatMap((list) => checkOrder(namesOf(spec, list), namesOf(oldSpec, list), list))
  const qos = qosClassOf(oldSpec)
  const first = [
    ...(qosClassOf(spec) === (textAt(old['status'], 'qosClass') || qos)
      ? []
      : [invalidField('spec', qos, 'Pod QOS Class may not change as a result of resizing')]),
    ...(isOnOldNode(old) ? [forbiddenField('spec', 'Pod running on node without support for resize')] : []),
    ...reordered,
  ]
  if (reordered.length > 0) return first
  return [...first, ...lists.flatMap((list) => checkContainers(listAt(spec, list), listAt(oldSpec, list), list))]
}

function refusalOf(spec: Json, old: ApiDocument, dialect: Dialect): string | undefined {
  const hasOwn = [spec, old['spec'] ?? null].some((each) =>
    ['requests', 'limits'].some((side) => Object.keys(objectAt(each, 'resources', side)).length > 0),
  )
  if (hasOwn) return 'pods with pod-level resources cannot be resized'
  if (isMirrorPod(old, dialect)) return 'static pods cannot be resized'
  return textAt(old['spec'], 'os', 'name') === 'windows' ? 'windows pods cannot be resized' : undefined
}

/** A node that can resize says what resources its running containers have. */
function isOnOldNode({ status }: ApiDocument): boolean {
  const running = listAt(status, 'containerStatuses').find((each) => isJsonObject(valueAt(each, 'state', 'running')))
  return running !== undefined && !isJsonObject(valueAt(running, 'resources'))
}

function checkOrder(names: readonly string[], old: readonly string[], list: string): readonly FieldError[] {
  if (names.length !== old.length)
    return [forbiddenField(`spec.${list}`, `${list} may not be added or removed on resize`)]
  return old.flatMap((name, index) =>
    names[index] === name
      ? []
      : [forbiddenField(`spec.${list}[${index}].name`, `${list} may not be renamed or reordered on resize`)],
  )
}

function checkContainers(next: readonly Json[], old: readonly Json[], list: string): readonly FieldError[] {
  return old.flatMap((before, index) => {
    const after = next[index] ?? null
    const isInit = list === 'initContainers'
    const runsOn = textAt(before, 'restartPolicy') === 'Always'
    if (isInit && !runsOn)
      return isDeepStrictEqual(after, before)
        ? []
        : [forbiddenField('spec', 'resources for non-sidecar init containers are immutable')]
    const what = isInit ? 'cpu and memory resources for sidecar containers' : 'cpu and memory resources'
    return [
      ...checkRemoved(after, before, `spec.${list}[${index}].resources`),
      ...(isDeepStrictEqual(fixedPart(after), fixedPart(before))
        ? []
        : [forbiddenField('spec', `only ${what} are mutable`)]),
    ]
  })
}

function checkRemoved(after: Json, before: Json, path: string): readonly FieldError[] {
  return (['requests', 'limits'] as const)
    .filter((side) => {
      const present = objectAt(after, 'resources', side)
      return Object.keys(objectAt(before, 'resources', side)).some((name) => present[name] === undefined)
    })
    .map((side) => forbiddenField(`${path}.${side}`, `resource ${side} cannot be removed`))
}

const resizable = ['cpu', 'memory']

/** Returns what a resize does not change of a container; amounts that are written in another way are equal. */
function fixedPart(container: Json): JsonObject {
  const amounts = (['requests', 'limits'] as const).map((side) =>
    comparableAmounts(without(objectAt(container, 'resources', side), ...resizable)),
  )
  return { ...without(objectAt(container), 'resources'), resources: amounts }
}
