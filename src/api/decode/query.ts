import { z } from 'zod'
import { badRequest } from '../status.ts'

export const flag = z.enum(['true', 'false', '1', '0', '']).transform((text) => text === 'true' || text === '1')
const number = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number)
/** Longer than any revision of ours: a client may bring one of another server, and must hear that it is too large. */
const revision = z
  .string()
  .regex(/^\d{1,100}$/, 'expected a whole number')
  .transform(Number)
const optionalRevision = z.union([z.literal('').transform(() => undefined), revision]).optional()

const listShape = z.object({
  labelSelector: z.string().optional(),
  fieldSelector: z.string().optional(),
  // Kubernetes takes one below zero for none.
  limit: z
    .string()
    .regex(/^-?\d{1,15}$/, 'expected a whole number')
    .transform((limit) => (Number(limit) > 0 ? Number(limit) : undefined))
    .optional(),
  continue: z
    .string()
    .transform((token) => token || undefined)
    .optional(),
  resourceVersion: optionalRevision,
  resourceVersionMatch: z
    .string()
    .transform((match) => match || undefined)
    .optional(),
  watch: flag.default(false),
  timeoutSeconds: number.optional(),
  allowWatchBookmarks: flag.default(false),
  sendInitialEvents: flag.optional(),
})

/** What a list or watch asks for; absent members were not given. */
export type ListOptions = z.infer<typeof listShape>

/** Unknown parameters are ignored, as Kubernetes does; a known one of the wrong form is a 400. */
export function parseListOptions(query: URLSearchParams): ListOptions {
  return parseQuery(listShape, query)
}

const getShape = z.object({ resourceVersion: optionalRevision })

/** The oldest revision at which the object may be shown. */
export function parseGetRevision(query: URLSearchParams): number | undefined {
  return parseQuery(getShape, query).resourceVersion
}

export function parseQuery<T>(shape: z.ZodType<T>, query: URLSearchParams): T {
  const parsed = shape.safeParse(Object.fromEntries(query))
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `query parameter ${issue.path.join('.')}: ${issue.message}`)
  throw badRequest(problems.join(', '), parsed.error)
}

const durationText = /^[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+)$/

/** Throws a 400 for a time limit that is no duration as Go writes it; this server ends every request after a minute. */
export function assertTimeout(query: URLSearchParams): void {
  const timeout = query.get('timeout') ?? ''
  if (timeout === '' || durationText.test(timeout)) return
  const why = `time: invalid duration ${JSON.stringify(timeout)}`
  throw badRequest(`invalid timeout specified in the request URL - ${why}`)
}
