import { formatTime, type Json } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt, valueAt, withMetadata } from '../document.ts'
import type { Answer, ItemTarget, WriteOptions } from '../request/request.ts'
import { bindings, bindingTarget } from '../resources/pod-actions.ts'
import { conflict, invalid, renderSuccess } from '../status.ts'
import { acceptAction } from './accept-document.ts'
import { admitAction } from './admit-request.ts'
import { reviseObject } from './update.ts'
import type { VerbContext } from './verb-context.ts'

/** Answers a POST of a Binding to a pod, which assigns it to the target node. 409 for a pod that is bound or being deleted. */
export async function bindPod(
  context: VerbContext,
  target: ItemTarget,
  body: Json,
  options: WriteOptions,
): Promise<Answer> {
  const given = acceptAction(target, bindings, body)
  const admitted = await admitAction(context, target, { kind: bindings, object: given }, options)
  const binding = admitted === given ? given : acceptAction(target, bindings, admitted)
  const errors = bindingTarget(valueAt(binding, 'target') ?? {}, 'target')
  if (errors.length > 0) throw invalid(bindings, target.name, errors)
  const own = { ...context, admission: undefined }
  await reviseObject(own, target, (pod) => bound(target, pod, binding, context.now()), options)
  const text = renderSuccess({ name: target.name, group: '', kind: 'pods' })
  return { kind: 'document', httpCode: 201, text }
}

/** Returns the bound pod. A resourceVersion and a uid in the Binding must be those of the pod. */
function bound(target: ItemTarget, pod: ApiDocument, binding: ApiDocument, now: Date): ApiDocument {
  assertBindable(target, pod)
  const { uid, resourceVersion, annotations } = binding.metadata
  const bare = withMetadata(pod, {
    ...(uid ? { uid } : {}),
    ...(resourceVersion ? { resourceVersion } : {}),
    ...(annotations === undefined ? {} : { annotations: { ...pod.metadata.annotations, ...annotations } }),
  })
  const status = objectAt(pod['status'])
  const others = listAt(status, 'conditions').filter((each) => !isJsonObject(each) || each['type'] !== 'PodScheduled')
  const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: formatTime(now) }
  const spec = { ...objectAt(pod['spec']), nodeName: textAt(binding, 'target', 'name') }
  return { ...bare, spec, status: { ...status, conditions: [...others, scheduled] } }
}

function assertBindable({ resource, name }: ItemTarget, pod: ApiDocument): void {
  const refuse = (why: string) => conflict({ ...resource, plural: 'pods/binding' }, name, `pod ${name} ${why}`)
  const present = textAt(pod['spec'], 'nodeName')
  if (pod.metadata.deletionTimestamp !== undefined) throw refuse('is being deleted, cannot be assigned to a host')
  if (present !== '') throw refuse(`is already assigned to node "${present}"`)
  if (listAt(pod['spec'], 'schedulingGates').length > 0) throw refuse('has non-empty .spec.schedulingGates')
}
