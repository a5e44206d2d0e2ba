import { z } from 'zod'
import type { Json } from '../../model/api-object.ts'
import { badRequest } from '../status.ts'
import type { DeleteOptions } from '../verbs/delete.ts'
import { parseDryRun } from './query.ts'

/** Grace and propagation are accepted and change nothing while no pod is stopped and nothing is collected. */
const shape = z.object({
  preconditions: z.object({ uid: z.string().optional(), resourceVersion: z.string().optional() }).nullish(),
  dryRun: z.array(z.literal('All')).nullish(),
  gracePeriodSeconds: z.number().nullish(),
  propagationPolicy: z.enum(['Orphan', 'Background', 'Foreground']).nullish(),
})

/** From the body, which may be absent, and the query. */
export function parseDeleteOptions(query: URLSearchParams, body: Json | undefined): DeleteOptions {
  const parsed = shape.safeParse(body ?? {})
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw badRequest(`DeleteOptions: ${problems.join(', ')}`, parsed.error)
  }
  const { preconditions, dryRun } = parsed.data
  return { preconditions: preconditions ?? {}, dryRun: parseDryRun(query) || (dryRun ?? []).includes('All') }
}
