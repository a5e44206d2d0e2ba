import { z } from 'zod'
import type { Json } from '../../model/api-object.ts'
import { isSwitchedOn } from '../query-switch.ts'
import type { DeleteOptions } from '../request/request.ts'
import { invalidField, unsupportedField } from '../schema/field-error.ts'
import { badRequest } from '../status.ts'
import { isDryRun, parseDryRun } from './dry-run.ts'
import { invalidOption } from './invalid-option.ts'

const shape = z.object({
  preconditions: z.object({ uid: z.string().optional(), resourceVersion: z.string().optional() }).nullish(),
  dryRun: z.array(z.string()).nullish(),
  gracePeriodSeconds: z.int().nullish(),
  propagationPolicy: z.string().nullish(),
  orphanDependents: z.boolean().nullish(),
})

/** Parses the delete options of the body or, without one, of the query. */
export function parseDeleteOptions(query: URLSearchParams, body: Json | undefined): DeleteOptions {
  const parsed = shape.safeParse(body ?? fromQuery(query))
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw badRequest(`DeleteOptions: ${problems.join(', ')}`, parsed.error)
  }
  const { preconditions, gracePeriodSeconds, orphanDependents } = parsed.data
  const propagationPolicy = asPolicy(parsed.data.propagationPolicy ?? '')
  if (propagationPolicy !== undefined && typeof orphanDependents === 'boolean') {
    const why = 'orphanDependents and deletionPropagation cannot be both set'
    throw invalidOption('DELETE', invalidField('propagationPolicy', propagationPolicy, why))
  }
  const dryRuns = [parseDryRun(query, 'DELETE'), isDryRun(parsed.data.dryRun ?? [], 'DELETE')]
  return {
    preconditions: preconditions ?? {},
    dryRun: dryRuns.includes(true),
    gracePeriodSeconds: gracePeriodSeconds ?? undefined,
    propagationPolicy: propagationPolicy ?? policyOf(orphanDependents),
    answersAccepted: orphanDependents === false,
  }
}

function asPolicy(text: string): DeleteOptions['propagationPolicy'] {
  if (text === '') return undefined
  if (text === 'Orphan' || text === 'Background' || text === 'Foreground') return text
  const supported = ['Foreground', 'Background', 'Orphan', 'nil']
  throw invalidOption('DELETE', unsupportedField('propagationPolicy', text, supported))
}

/** Returns the policy of the old boolean option, which preceded the three policies. */
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
    ...(orphan !== null && orphan !== undefined ? { orphanDependents: isSwitchedOn(orphan) } : {}),
  }
}
