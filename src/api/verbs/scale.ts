import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, type Metadata, objectAt, valueAt, withMetadata } from '../document.ts'
import { numberOf } from '../exact-json.ts'
import type { Answer, ApplyOptions, ItemTarget, WriteOptions } from '../request/request.ts'
import { storeKey } from '../resources/keys.ts'
import { formatLabelSelector } from '../resources/label-selector.ts'
import { apiVersionOf, type FieldPath, type ScalePaths } from '../resources/resource.ts'
import { scales } from '../resources/scales.ts'
import { parseStored, withRevision } from '../resources/stored-text.ts'
import { invalidField, requiredField } from '../schema/field-error.ts'
import { checkMetadata } from '../schema/metadata-rules.ts'
import { internalError, invalid, notFound, unknownPath } from '../status.ts'
import { acceptDocument, assertOnUrl } from './accept-document.ts'
import { applyConfigured, checkConfiguration } from './apply.ts'
import { reviseObject, type ShownForm } from './update.ts'
import type { VerbContext } from './verb-context.ts'

/** Returns the Scale (autoscaling/v1) of an object, which `kubectl scale` and horizontal autoscalers read. */
export async function getScale(context: VerbContext, target: ItemTarget): Promise<Answer> {
  const { resource, namespace, name } = target
  const entry = await context.store.get(storeKey(resource, namespace, name))
  if (entry === undefined) throw notFound(resource, name)
  return scaleAnswer(target, withRevision(parseStored(resource, entry), entry.revision))
}

/**
 * Writes `spec.replicas` of the wanted Scale and nothing else. `revise` gets the present Scale. A resourceVersion in
 * its result must be the stored one; without one, a conflict is retried.
 */
export async function writeScale(
  context: VerbContext,
  target: ItemTarget,
  revise: (current: Json) => Json,
  options: WriteOptions,
): Promise<Answer> {
  const write = (current: ApiDocument) => {
    const wanted = acceptScale(target, revise(toScale(target, current)))
    const { uid = current.metadata.uid, resourceVersion = current.metadata.resourceVersion } = wanted.metadata
    return withMetadata(withReplicas(target, current, wanted), {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    })
  }
  const settled = { ...options, shown: shownScale(target) }
  return toScaleAnswer(target, await reviseObject(context, target, write, settled))
}

/**
 * Applies a Scale (server-side apply), like an object that has only replicas. Their owners are stored, and reported in
 * conflicts, under the object's own path.
 */
export async function applyScale(
  context: VerbContext,
  target: ItemTarget,
  body: Json,
  options: ApplyOptions,
): Promise<Answer> {
  const { resource, name } = target
  const scale = acceptScale(target, checkConfiguration({ ...target, resource: scales }, body))
  if (valueAt(scale, 'spec', 'replicas') === undefined) throw invalid(scales, name, [requiredField('spec.replicas')])
  const { uid, resourceVersion } = objectAt(scale, 'metadata')
  const metadata = {
    name,
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  }
  const bare = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata }
  const applied = setAt(bare, pathsOf(target).specReplicas, readReplicas(target, scale)) as JsonObject
  const settled = { ...options, shown: shownScale(target) }
  return toScaleAnswer(target, await applyConfigured(context, target, applied, settled))
}

/** Returns the form in which admission sees an object that is scaled. */
function shownScale(target: ItemTarget): ShownForm {
  return {
    kind: scales,
    show: (document) => toScale(target, document),
    take: (document, scale) => withReplicas(target, document, acceptScale(target, scale)),
  }
}

function withReplicas(target: ItemTarget, document: ApiDocument, scale: ApiDocument): ApiDocument {
  return setAt(document, pathsOf(target).specReplicas, readReplicas(target, scale)) as ApiDocument
}

/** Checks a whole Scale; only its replicas are written. */
function acceptScale(target: ItemTarget, body: Json): ApiDocument {
  const scale = acceptDocument({ ...target, resource: scales, subresource: undefined }, body)
  assertOnUrl(target, scale)
  return scale
}

function toScaleAnswer(target: ItemTarget, answer: Answer): Answer {
  return scaleAnswer(target, JSON.parse(answer.kind === 'list' ? '{}' : answer.text) as ApiDocument)
}

function pathsOf({ resource }: ItemTarget): ScalePaths {
  if (resource.scale === undefined) throw unknownPath()
  return resource.scale
}

function scaleAnswer(target: ItemTarget, document: ApiDocument): Answer {
  return { kind: 'object', httpCode: 200, resource: scales, text: JSON.stringify(toScale(target, document)) }
}

function toScale(target: ItemTarget, document: ApiDocument): ApiDocument {
  const { specReplicas, statusReplicas, labelSelector } = pathsOf(target)
  const { name, namespace, uid, resourceVersion, creationTimestamp } = document.metadata
  const replicas = numberOf(valueAt(document, ...specReplicas))
  if (replicas === undefined) throw internalError(`the spec replicas field ".${specReplicas.join('.')}" does not exist`)
  const selector = labelSelector === undefined ? undefined : readSelector(target, document, labelSelector)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: withoutAbsent({ name, namespace, uid, resourceVersion, creationTimestamp }),
    spec: { replicas },
    status: {
      replicas: numberOf(valueAt(document, ...statusReplicas)) ?? 0,
      ...(selector === undefined ? {} : { selector }),
    },
  }
}

function withoutAbsent(metadata: Readonly<Record<string, string | undefined>>): Metadata {
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined))
}

/** Renders the selector as one text: a custom resource has a text already, built-in kinds have a selector in parts (spec 2.4). */
function readSelector({ resource }: ItemTarget, document: ApiDocument, path: FieldPath): string | undefined {
  const value = valueAt(document, ...path)
  const isMap = resource.scale?.isLabelMap === true
  if (resource.isCustom !== true && isJsonObject(value))
    return formatLabelSelector(isMap ? { matchLabels: value } : value)
  if (value === undefined || typeof value === 'string') return value
  throw internalError(`the label selector field ".${path.join('.')}" must be a string`)
}

function readReplicas({ resource, name }: ItemTarget, scale: Json): number {
  const replicas = numberOf(valueAt(scale, 'spec', 'replicas')) ?? 0
  const isCustom = resource.isCustom === true
  const why = isCustom ? 'should be a non-negative integer' : 'must be greater than or equal to 0'
  const errors = [
    ...(isCustom ? [] : checkMetadata(objectAt(scale, 'metadata'), 'metadata')),
    ...(replicas < 0 ? [invalidField('spec.replicas', replicas, why)] : []),
  ]
  if (errors.length > 0) throw invalid(scales, name, errors)
  return replicas
}

function setAt(value: Json | undefined, [field, ...rest]: FieldPath, leaf: Json): Json {
  if (field === undefined) return leaf
  const object = isJsonObject(value) ? value : {}
  return { ...object, [field]: setAt(Object.hasOwn(object, field) ? object[field] : undefined, rest, leaf) }
}
