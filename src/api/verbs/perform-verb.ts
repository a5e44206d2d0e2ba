import type { IncomingMessage } from 'node:http'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { Json } from '../../model/api-object.ts'
import { readObject, readOptionalObject, readPatch } from '../decode/body.ts'
import { parseDeleteOptions } from '../decode/delete-options.ts'
import { parseGetRevision, parseListOptions } from '../decode/query.ts'
import { assertNotForced, parseApplyOptions, parseFieldValidation, parseWriteOptions } from '../decode/write-options.ts'
import { valueAt } from '../document.ts'
import type { Answer, FieldCheck, ItemTarget, Target } from '../request/request.ts'
import { scales } from '../resources/scales.ts'
import type { Route } from '../route/route.ts'
import { answerReview } from './answer-review.ts'
import { applyObject } from './apply.ts'
import { bindPod } from './bind-pod.ts'
import { createObject } from './create.ts'
import { deleteObject } from './delete.ts'
import { deleteCollection } from './delete-collection.ts'
import { evictPod } from './evict-pod.ts'
import { checkBodyFields } from './field-validation.ts'
import { getObject } from './get.ts'
import { listObjects } from './list.ts'
import { applyPatch, patchObject } from './patch.ts'
import { getComputed, listComputed } from './read-computed.ts'
import { requestToken } from './request-token.ts'
import { applyScale, getScale, writeScale } from './scale.ts'
import { replaceObject } from './update.ts'
import type { VerbContext } from './verb-context.ts'

export type ResourceRoute = Route & { readonly kind: 'resource' }

/** Decodes the input of the verb and performs it; watches are served elsewhere. */
export async function performVerb(
  context: VerbContext,
  { verb, target }: ResourceRoute,
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Answer> {
  // Reads of objects say how fresh they must be; everything else is decided on the newest state.
  if ((verb !== 'get' && verb !== 'list') || target.subresource !== undefined) await context.store.catchUp()
  switch (target.subresource) {
    case 'scale':
      return performScale(context, verb, itemOf(target), request, query)
    case 'binding':
      return performAction(bindPod, context, itemOf(target), request, query)
    case 'token':
      return performAction(requestToken, context, itemOf(target), request, query)
    case 'eviction':
      return performEviction(context, itemOf(target), request, query)
    default:
      return performOnObject(context, { verb, target }, request, query)
  }
}

async function performOnObject(
  context: VerbContext,
  { verb, target }: Pick<ResourceRoute, 'verb' | 'target'>,
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Answer> {
  switch (verb) {
    case 'create':
      return performCreate(context, target, request, query)
    case 'get':
      if (target.resource.computed !== undefined) return getComputed(itemOf(target))
      return getObject(context, itemOf(target), parseGetRevision(query))
    case 'list':
    case 'watch':
      if (target.resource.computed !== undefined) return listComputed(context, target, parseListOptions(query))
      return listObjects(context, target, parseListOptions(query))
    case 'update': {
      const value = await readChecked(context, target, request, query)
      return replaceObject(context, itemOf(target), value, parseWriteOptions(query, request))
    }
    case 'patch':
      return performPatch(context, itemOf(target), request, query)
    case 'delete':
      return deleteObject(context, itemOf(target), await readDeleteOptions(context, request, query))
    case 'deletecollection': {
      const options = await readDeleteOptions(context, request, query)
      return deleteCollection(context, target, parseListOptions(query), options)
    }
  }
}

async function performCreate(
  context: VerbContext,
  target: Target,
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Answer> {
  const value = await readChecked(context, target, request, query)
  const options = parseWriteOptions(query, request)
  if (target.resource.review !== undefined) return answerReview(context, target, value, options)
  return createObject(context, target, value, options)
}

/** Reads the body of an action, which is not stored, and performs it. */
async function performAction(
  act: typeof bindPod | typeof requestToken,
  context: VerbContext,
  target: ItemTarget,
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Answer> {
  const { value } = await readObject(request, context.readYaml)
  return act(context, target, value, parseWriteOptions(query, request))
}

async function readDeleteOptions({ readYaml }: VerbContext, request: IncomingMessage, query: URLSearchParams) {
  return parseDeleteOptions(query, await readOptionalObject(request, readYaml))
}

async function performEviction(
  context: VerbContext,
  target: ItemTarget,
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Answer> {
  const { value } = await readObject(request, context.readYaml)
  return evictPod(context, target, value, parseDeleteOptions(query, valueAt(value, 'deleteOptions')))
}

async function performScale(
  context: VerbContext,
  verb: ResourceRoute['verb'],
  target: ItemTarget,
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Answer> {
  if (verb === 'get') return getScale(context, target)
  if (verb === 'update') {
    const scale = (await readObject(request, context.readYaml)).value
    return writeScale(context, target, () => scale, parseWriteOptions(query, request))
  }
  const patch = await readPatch(request, target.resource.isCustom === true, context.readYaml)
  if (patch.type === 'apply') return applyScale(context, target, patch.value, parseApplyOptions(query))
  assertNotForced(query)
  const options = parseWriteOptions(query, request)
  return writeScale(context, target, (scale) => applyPatch(scales, target.name, scale, patch), options)
}

async function performPatch(
  context: VerbContext,
  target: ItemTarget,
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Answer> {
  const patch = await readPatch(request, target.resource.isCustom === true, context.readYaml)
  const fieldCheck = fieldCheckOf(context, request, query)
  if (patch.type === 'apply') return applyObject(context, target, patch, parseApplyOptions(query), fieldCheck)
  assertNotForced(query)
  return patchObject(context, target, patch, { ...parseWriteOptions(query, request), fieldCheck })
}

/** Reads the object in the body, its fields checked as the request demands. */
async function readChecked(
  context: VerbContext,
  { resource }: Target,
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Json> {
  const body = await readObject(request, context.readYaml)
  const slice = new TimeSlice()
  checkBodyFields(fieldCheckOf(context, request, query), resource, body)
  await slice.whenSpent()
  return body.value
}

function fieldCheckOf(
  { dialect, warn = () => undefined }: VerbContext,
  { method }: IncomingMessage,
  query: URLSearchParams,
): FieldCheck {
  return { validation: parseFieldValidation(query, method, dialect), warn }
}

function itemOf(target: Target): ItemTarget {
  return { ...target, name: target.name ?? '' }
}
