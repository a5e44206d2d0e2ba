import { z } from 'zod'
import type { Json } from '../../model/api-object.ts'
import { badRequest } from '../status.ts'
import type { DeleteOptions } from '../verbs/delete.ts'
import { parseDryRun } from './query.ts'

const shape = z.object({
  preconditions: z.object({ uid: z.string().optional(), resourceVersion: z.string().optional() }).nullish(),
  dryRun: z.array(z.literal('All')).nullish(),
  gracePeriodSeconds: z.int().nullish(),
  propagationPolicy: z.enum(['Orphan', 'Background', 'Foreground']).nullish(),
  orphanDependents: z.boolean().nullish(),
})

/** From the body or, without one, the query. */
export function parseDeleteOptions(query: URLSearchParams, body: Json | undefined): DeleteOptions {
  const parsed = shape.safeParse(body ?? fromQuery(query))
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw badRequest(`DeleteOptions: ${problems.join(', ')}`, parsed.error)
  }
  const { preconditions, dryRun, gracePeriodSeconds, orphanDependents } = parsed.data
  const propagationPolicy = parsed.data.propagationPolicy ?? undefined
  if (propagationPolicy !== undefined && typeof orphanDependents === 'boolean') {
    throw badRequest('DeleteOptions: orphanDependents and propagationPolicy cannot be both set')
  }
  return {
    preconditions: preconditions ?? {},
    dryRun: parseDryRun(query) || (dryRun ?? []).includes('All'),
    gracePeriodSeconds: gracePeriodSeconds ?? undefined,
    propagationPolicy: propagationPolicy ?? policyOf(orphanDependents),
    answersAccepted: orphanDependents === false,
  }
}

/** How policies were named before there were three. */
function policyOf(orphanDependents: boolean | null | undefined): DeleteOptions['propagationPolicy'] {
  if (typeof orphanDependents !== 'boolean') return undefined
  return orphanDependents ? 'Orphan' : 'Background'
}

function fromQuery(query: URLSearchParams): Record<string, unknown> {
  const [grace, policy, orphan] = ['gracePeriodSeconds', 'propagationPolicy', 'orphanDependents'].map((name) =>
    query.get(name),
  )
  return {
    ...(grace ? { gracePeriodSeconds: Number(grace) } : {}),
    ...(policy ? { propagationPolicy: policy } : {}),
    ...(orphan ? { orphanDependents: orphan === 'true' } : {}),
  }
}
