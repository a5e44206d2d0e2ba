import type { Json } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import type { Answer, DeleteOptions, ItemTarget } from '../request/request.ts'
import { evictions } from '../resources/pod-actions.ts'
import { renderSuccess } from '../status.ts'
import { acceptAction } from './accept-document.ts'
import { deleteObject } from './delete.ts'
import type { VerbContext } from './verb-context.ts'

/** Answers a POST of an Eviction (policy/v1) to a pod with a 201: a delete with its grace. No disruption budgets are served. */
export async function evictPod(
  context: VerbContext,
  target: ItemTarget,
  body: Json,
  options: DeleteOptions,
): Promise<Answer> {
  acceptAction(target, evictions, withCurrentVersion(body))
  await deleteObject(context, target, options)
  const text = renderSuccess({ name: target.name, group: '', kind: 'pods' })
  return { kind: 'document', httpCode: 201, text }
}

/** Returns an Eviction in policy/v1: old clients send policy/v1beta1, which has the same fields. */
function withCurrentVersion(body: Json): Json {
  return isJsonObject(body) && body['apiVersion'] === 'policy/v1beta1' ? { ...body, apiVersion: 'policy/v1' } : body
}
