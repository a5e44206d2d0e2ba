import { z } from 'zod'
import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, formatTime, isJsonObject, listAt, objectAt, textAt } from '../document.ts'
import { badRequest, conflict, renderSuccess } from '../status.ts'
import { reviseObject } from './update.ts'
import type { Answer, ItemTarget, VerbContext, WriteOptions } from './verb-context.ts'

const bindingSchema = z.object({
  metadata: z.object({ uid: z.string().optional() }).optional(),
  target: z.object({ kind: z.string().optional(), name: z.string().min(1) }),
})

/** POST of a Binding to a pod: it runs on the target node from now on. 409 for one that is bound or being deleted. */
export async function bindPod(
  context: VerbContext,
  target: ItemTarget,
  body: Json,
  options: WriteOptions,
): Promise<Answer> {
  const parsed = bindingSchema.safeParse(body)
  if (!parsed.success || (parsed.data.target.kind ?? 'Node') !== 'Node')
    throw badRequest('Binding: target: expected a Node with a name', parsed.error)
  const { metadata, target: node } = parsed.data
  const bind = (pod: ApiDocument) => bound(target, pod, { node: node.name, uid: metadata?.uid, now: context.now() })
  await reviseObject(context, target, bind, options)
  const text = renderSuccess({ name: target.name, group: '', kind: 'pods' })
  return { kind: 'document', httpCode: 201, text }
}

function bound(
  { resource, name }: ItemTarget,
  pod: ApiDocument,
  wish: { readonly node: string; readonly uid: string | undefined; readonly now: Date },
): ApiDocument {
  const present = textAt(pod['spec'], 'nodeName')
  if (wish.uid !== undefined && wish.uid !== pod.metadata.uid)
    throw conflict(resource, name, `Precondition failed: UID in precondition: ${wish.uid}`)
  if (pod.metadata.deletionTimestamp !== undefined) throw conflict(resource, name, `pod ${name} is being deleted`)
  if (present !== '') throw conflict(resource, name, `pod ${name} is already assigned to node "${present}"`)
  const status = objectAt(pod['status'])
  const others = listAt(status, 'conditions').filter((each) => !isJsonObject(each) || each['type'] !== 'PodScheduled')
  const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: formatTime(wish.now) }
  const spec = { ...objectAt(pod['spec']), nodeName: wish.node }
  return { ...pod, spec, status: { ...status, conditions: [...others, scheduled] } }
}
