import type { ListOptions } from '../decode/query.ts'
import type { ApiDocument } from '../document.ts'
import { StatusError } from '../status.ts'
import { type DeleteOptions, deleteObject } from './delete.ts'
import { listObjects } from './list.ts'
import type { Answer, Target, VerbContext } from './verb-context.ts'

/** Deletes what the selectors match, one commit each, and answers the objects as they were. */
export async function deleteCollection(
  context: VerbContext,
  target: Target,
  selectors: ListOptions,
  options: DeleteOptions,
): Promise<Answer> {
  const answer = await listObjects(context, target, selectors)
  for (const text of answer.kind === 'list' ? answer.items : []) {
    const { name = '', namespace } = (JSON.parse(text) as ApiDocument).metadata
    await deleteObject(context, { ...target, namespace, name }, options).catch(ignoreGone)
  }
  return answer
}

/** Another client was faster. */
function ignoreGone(thrown: unknown): void {
  if (!(thrown instanceof StatusError) || thrown.code !== 'NotFound') throw thrown
}
