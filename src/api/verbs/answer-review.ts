import type { Json } from '../../model/api-object.ts'
import type { Answer, Target, WriteOptions } from '../request/request.ts'
import { invalid, unauthorized } from '../status.ts'
import { acceptDocument } from './accept-document.ts'
import { admitAction } from './admit-request.ts'
import { objectAnswer } from './answers.ts'
import type { VerbContext } from './verb-context.ts'

/** Answers a review with a 201 and the object in the request with its status. */
export async function answerReview(
  context: VerbContext,
  target: Target,
  body: Json,
  options: WriteOptions,
): Promise<Answer> {
  const { user } = context
  const { review } = target.resource
  if (user === undefined || review === undefined) throw unauthorized()
  const given = acceptDocument(target, body)
  const admitted = await admitAction(context, target, { kind: target.resource, object: given }, options)
  const document = admitted === given ? given : acceptDocument(target, admitted)
  const errors = target.resource.strategy.validate?.(document, undefined) ?? []
  if (errors.length > 0) throw invalid(target.resource, '', errors)
  const status = await review({ user, document })
  return objectAnswer(target.resource, { document: { ...document, status }, revision: 0 }, 201)
}
