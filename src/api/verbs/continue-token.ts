import { z } from 'zod'
import { badRequest } from '../status.ts'

/** The position of the next page of a list. Revision -1 continues with the newest state after an expired token. */
export interface ContinueToken {
  readonly revision: number
  /** The last key of the previous page, without the collection's prefix. */
  readonly lastKey: string
}

const tokenShape = z.object({ v: z.literal('meta.k8s.io/v1'), rv: z.int().min(-1), start: z.string().min(1) })

export function formatContinueToken({ revision, lastKey }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: lastKey })).toString('base64url')
}

/** Parses a continue token. Throws a 400 for a text that this server cannot have issued. */
export function parseContinueToken(text: string): ContinueToken {
  try {
    const { rv, start } = tokenShape.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
    return { revision: rv, lastKey: start }
  } catch (thrown) {
    throw badRequest('continue key is not valid: it must be one that this server gave in metadata.continue', thrown)
  }
}
