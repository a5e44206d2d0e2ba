import type { Json } from '../../model/api-object.ts'
import { textAt } from '../document.ts'
import { badRequest, renderSuccess } from '../status.ts'
import { type DeleteOptions, deleteObject } from './delete.ts'
import type { Answer, ItemTarget, VerbContext } from './verb-context.ts'

/** POST of an Eviction (policy/v1) to a pod: a delete with its grace, answered by a 201. No disruption budget is served that could say no. */
export async function evictPod(
  context: VerbContext,
  target: ItemTarget,
  eviction: Json,
  options: DeleteOptions,
): Promise<Answer> {
  const kind = textAt(eviction, 'kind') || 'Eviction'
  if (kind !== 'Eviction') throw badRequest(`kind: expected Eviction, found ${kind}`)
  const name = textAt(eviction, 'metadata', 'name') || target.name
  if (name !== target.name)
    throw badRequest(`the name in the Eviction (${name}) is not the one in the URL (${target.name})`)
  await deleteObject(context, target, options)
  const text = renderSuccess({ name: target.name, group: '', kind: 'pods' })
  return { kind: 'document', httpCode: 201, text }
}
