import type { ListOptions } from '../decode/query.ts'
import type { ApiDocument } from '../document.ts'
import type { Answer, DeleteOptions, Target } from '../request/request.ts'
import { StatusError } from '../status.ts'
import { deleteObject } from './delete.ts'
import { listObjects } from './list.ts'
import type { VerbContext } from './verb-context.ts'

/** The number of deletions that are sent to the store together. */
const largestBatch = 32

/** Deletes the objects that the selectors match, one commit each, and returns them as they were. */
export async function deleteCollection(
  context: VerbContext,
  target: Target,
  selectors: ListOptions,
  options: DeleteOptions,
): Promise<Answer> {
  const answer = await listObjects(context, target, selectors)
  const texts = answer.kind === 'list' ? [...answer.items] : []
  const deleteOne = async (text: string) => {
    const { name = '', namespace } = (JSON.parse(text) as ApiDocument).metadata
    const asked = { ...target, namespace }
    await deleteObject(context, { ...asked, name }, options, asked).catch(ignoreGone)
  }
  for (let start = 0; start < texts.length; start += largestBatch)
    await Promise.all(texts.slice(start, start + largestBatch).map(deleteOne))
  return answer
}

/** Ignores an object that another client deleted first. */
function ignoreGone(thrown: unknown): void {
  if (!(thrown instanceof StatusError) || thrown.code !== 'NotFound') throw thrown
}
