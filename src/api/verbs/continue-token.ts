import { z } from 'zod'
import { badRequest } from '../status.ts'

/** Where the next page of a list begins. Revision -1 goes on with the newest state after an expired token. */
export interface ContinueToken {
  readonly revision: number
  /** The last key of the page before, without the collection's prefix. */
  readonly lastKey: string
}

const tokenShape = z.object({ v: z.literal('meta.k8s.io/v1'), rv: z.int().min(-1), start: z.string().min(1) })

export function formatContinueToken({ revision, lastKey }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: lastKey })).toString('base64url')
}

/** Throws a 400 for anything that this server cannot have given out. */
export function parseContinueToken(text: string): ContinueToken {
  try {
    const { rv, start } = tokenShape.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
    return { revision: rv, lastKey: start }
  } catch (thrown) {
    throw badRequest('continue key is not valid: it must be one that this server gave in metadata.continue', thrown)
  }
}
