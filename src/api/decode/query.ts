import { z } from 'zod'
import { isSwitchedOn } from '../query-switch.ts'
import { badRequest } from '../status.ts'

export const flag = z.string().transform(isSwitchedOn)
const number = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number)
/**
 * The schema of a revision, longer than any revision of this server: a client may send one of another server, and must learn that it is too
 * large.
 */
const revision = z
  .string()
  .regex(/^\d{1,100}$/, 'expected a whole number')
  .transform(Number)
const optionalRevision = z.union([z.literal('').transform(() => undefined), revision]).optional()

const listShape = z.object({
  labelSelector: z.string().optional(),
  fieldSelector: z.string().optional(),
  // Kubernetes treats a negative limit as none.
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
  sendTraceparents: flag.default(false),
  /** For lists alone. This parameter is ours, like `sendTraceparents`. */
  omitManagedFields: flag.default(false),
})

/** The options of a list or watch; options that were not given are absent. */
export type ListOptions = z.infer<typeof listShape>

/** Parses list options. Unknown parameters are ignored, as in Kubernetes; a known one with an invalid value is a 400. */
export function parseListOptions(query: URLSearchParams): ListOptions {
  return parseQuery(listShape, query)
}

const getShape = z.object({ resourceVersion: optionalRevision })

/** Returns the oldest revision at which the object may be shown. */
export function parseGetRevision(query: URLSearchParams): number | undefined {
  return parseQuery(getShape, query).resourceVersion
}

/** Parses a query. Of a parameter that is given several times the first counts, as in Kubernetes. */
export function parseQuery<T>(shape: z.ZodType<T>, query: URLSearchParams): T {
  const parsed = shape.safeParse(Object.fromEntries([...query].toReversed()))
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `query parameter ${issue.path.join('.')}: ${issue.message}`)
  throw badRequest(problems.join(', '), parsed.error)
}

const durationText = /^[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+)$/

/** Checks the timeout: throws a 400 where it is no duration in Go's syntax. This server ends every request after a minute. */
export function assertTimeout(query: URLSearchParams): void {
  const timeout = query.get('timeout') ?? ''
  if (timeout === '' || durationText.test(timeout)) return
  const why = `time: invalid duration ${JSON.stringify(timeout)}`
  throw badRequest(`invalid timeout specified in the request URL - ${why}`)
}
