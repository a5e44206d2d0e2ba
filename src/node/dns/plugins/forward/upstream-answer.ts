import { followAliases } from '../../wire/aliases.ts'
import { recordType } from '../../wire/codes.ts'
import { hasReadableNames, type MessageLayout, readLayout } from '../../wire/message.ts'
import type { UpstreamAnswer } from '../resolver-handler.ts'
import { UpstreamError } from './upstream-error.ts'

/**
 * Checks an upstream's message. One that is cut short, has names that point to themselves or nowhere, or aliases in a circle is no answer:
 * clients would have to detect it. Throws UpstreamError `bad-answer`.
 */
export function readUpstreamAnswer(message: Buffer): UpstreamAnswer {
  const layout = readPlan(message)
  if (!hasReadableNames(message, layout)) throw badAnswer('with a name that cannot be read')
  const hasAlias = layout.records.some(({ type, section }) => type === recordType.CNAME && section === 'answer')
  if (hasAlias && followAliases(message, layout).isLoop) throw badAnswer('whose aliases lead in a circle')
  return { message, layout }
}

function readPlan(message: Buffer): MessageLayout {
  try {
    return readLayout(message, message.length)
  } catch (cause) {
    throw badAnswer('that is none', cause)
  }
}

function badAnswer(what: string, cause?: unknown): UpstreamError {
  return new UpstreamError('bad-answer', `the upstream sent a message ${what}`, { cause })
}
