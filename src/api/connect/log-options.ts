import { type FieldError, forbiddenField, invalidField } from '../schema/field-error.ts'
import { badRequest, invalid } from '../status.ts'
import { readInteger, readSwitch } from './query.ts'

/** The options of a log that the kubelet gets, and the container. */
export interface LogOptions {
  readonly container: string
  readonly follow: boolean
  /** Whether the kubelet's certificate is not checked for this request. */
  readonly skipsVerification: boolean
  /** The query of the kubelet's `/containerLogs`. */
  readonly query: URLSearchParams
}

/**
 * Reads PodLogOptions from a query. Throws a 400 for a value of another type and a 422 for one out of range, in
 * kube-apiserver's words.
 */
export function readLogOptions(query: URLSearchParams, pod: string): LogOptions {
  const numbers = ['sinceSeconds', 'tailLines', 'limitBytes'] as const
  const values = new Map(numbers.map((name) => [name, readInteger(query, name)] as const))
  const sinceTime = readTime(query.get('sinceTime') ?? '')
  const errors = [...checkRanges(values), ...checkSince(values.get('sinceSeconds'), sinceTime)]
  if (errors.length > 0) throw invalid({ group: '', plural: '', kind: 'PodLogOptions' }, pod, errors)
  const switches = ['follow', 'previous', 'timestamps'].filter((name) => readSwitch(query, name))
  const passed = [
    ...switches.map((name) => [name, 'true']),
    ...numbers.flatMap((name) => (values.get(name) === undefined ? [] : [[name, String(values.get(name))]])),
    ...(sinceTime === undefined ? [] : [['sinceTime', sinceTime]]),
  ]
  return {
    container: query.get('container') ?? '',
    follow: switches.includes('follow'),
    skipsVerification: readSwitch(query, 'insecureSkipTLSVerifyBackend'),
    query: new URLSearchParams(passed),
  }
}

function checkRanges(values: ReadonlyMap<string, bigint | undefined>): readonly FieldError[] {
  const lowest = [
    ['tailLines', 0n, 'must be greater than or equal to 0'],
    ['limitBytes', 1n, 'must be greater than 0'],
  ] as const
  return lowest.flatMap(([name, least, why]) => {
    const value = values.get(name)
    return value === undefined || value >= least ? [] : [invalidField(name, Number(value), why)]
  })
}

function checkSince(sinceSeconds: bigint | undefined, sinceTime: string | undefined): readonly FieldError[] {
  if (sinceSeconds === undefined) return []
  const both = 'at most one of `sinceTime` or `sinceSeconds` may be specified'
  if (sinceTime !== undefined) return [forbiddenField('', both)]
  return sinceSeconds >= 1n ? [] : [invalidField('sinceSeconds', Number(sinceSeconds), 'must be greater than 0')]
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** Returns the time in seconds, in UTC, as the kubelet gets it. */
function readTime(text: string): string | undefined {
  if (text === '' || text === 'null') return undefined
  const time = rfc3339.test(text) ? new Date(text) : undefined
  if (time === undefined || Number.isNaN(time.getTime()))
    throw badRequest(
      `sinceTime: expected a time such as 2006-01-02T15:04:05Z, found ${JSON.stringify(text.slice(0, 100))}`,
    )
  return `${time.toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)}Z`
}
