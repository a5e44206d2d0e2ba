import type { LogLevel } from './logger.ts'

/** `off`, or the most detailed level that is still written. */
export type FilterLevel = LogLevel | 'off'

/** One rule of a filter. An empty target stands for every target; fields must all be on the record. */
interface LogDirective {
  readonly target: string
  readonly fields: readonly string[]
  readonly level: FilterLevel
}

/** The most specific directive first: the first that matches a record decides on it. */
export type LogFilter = readonly LogDirective[]

export interface FilterProblem {
  readonly directive: string
  readonly reason: string
}

/** The levels by rising detail; the index is also the number RUST_LOG accepts for it. */
const levels: readonly FilterLevel[] = ['off', 'error', 'warn', 'info', 'debug', 'trace']

const levelExpected = 'expected a level: off, error, warn, info, debug, trace, or a number from 0 to 5'

/**
 * Reads the grammar of RUST_LOG (the `EnvFilter` of Rust's tracing-subscriber 0.3):
 * comma-separated `level`, `target`, `target=level`, `target[{field}]=level`, `[span]`. Never throws: what cannot be
 * used is named in `problems` and left out, the rest holds. When nothing usable remains, only errors are written.
 */
export function parseFilter(text: string): { filter: LogFilter; problems: readonly FilterProblem[] } {
  const problems: FilterProblem[] = []
  const byKey = new Map<string, LogDirective>()
  for (const item of splitDirectives(text)) {
    const parsed = parseDirective(item)
    if (typeof parsed === 'string') problems.push({ directive: item, reason: parsed })
    else byKey.set(JSON.stringify([parsed.target, parsed.fields]), parsed)
  }
  if (byKey.size === 0) byKey.set('', { target: '', fields: [], level: 'error' })
  return { filter: [...byKey.values()].sort(moreSpecificFirst), problems }
}

/** The directives that can decide on records of a target, the deciding one first; cut after the first without fields. */
export function directivesFor(filter: LogFilter, target: string): LogFilter {
  const matching = filter.filter((directive) => target.startsWith(directive.target))
  const unconditional = matching.findIndex((directive) => directive.fields.length === 0)
  return unconditional === -1 ? matching : matching.slice(0, unconditional + 1)
}

/** Whether a level is within a filter level: `warn` is within `info`, nothing is within `off`. */
export function isWithin(level: LogLevel, limit: FilterLevel): boolean {
  return levels.indexOf(level) <= levels.indexOf(limit)
}

/** The most detailed of the given directives' levels; `off` when there is none. */
export function widestLevel(directives: LogFilter): FilterLevel {
  return levels[Math.max(0, ...directives.map((directive) => levels.indexOf(directive.level)))] ?? 'off'
}

function moreSpecificFirst(a: LogDirective, b: LogDirective): number {
  return b.target.length - a.target.length || b.fields.length - a.fields.length
}

/** Commas inside braces belong to their directive; after a brace that never closes every comma separates. */
function splitDirectives(text: string): string[] {
  const items: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1
    if (text[at] === '}') depth = Math.max(0, depth - 1)
    if (text[at] !== ',' || depth > 0) continue
    items.push(text.slice(start, at))
    start = at + 1
  }
  const rest = text.slice(start)
  items.push(...(depth > 0 ? rest.split(',') : [rest]))
  return items.map((item) => item.trim()).filter((item) => item !== '')
}

/** The directive, or why it is ignored. */
function parseDirective(item: string): LogDirective | string {
  const bareLevel = parseLevel(item)
  if (bareLevel !== undefined) return { target: '', fields: [], level: bareLevel }
  const parts = /^([^=[]*)(?:\[([^\]]*)\])?\s*(?:=(.*))?$/s.exec(item)
  if (parts === null) return 'expected target[span{field}]=level'
  const [, rawTarget = '', selector, rawLevel = ''] = parts
  const target = rawTarget.trim()
  if (target === '' && selector === undefined) return 'expected a target before "="'
  if (target !== '' && !/^[\p{L}\p{N}:_-]/u.test(target)) return 'expected a target that begins with a letter or digit'
  const level = rawLevel.trim() === '' ? 'trace' : parseLevel(rawLevel.trim())
  if (level === undefined) return levelExpected
  const fields = parseSelector(selector ?? '')
  return typeof fields === 'string' ? fields : { target, fields, level }
}

/** Field names of `span{field=value,field}`, or why it is ignored: records carry fields, but no spans. */
function parseSelector(selector: string): readonly string[] | string {
  const parts = /^([^{}]*)(?:\{(.*)\})?$/s.exec(selector.trim())
  if (parts === null) return 'expected [span{field=value}]'
  const [, span = '', fieldText = ''] = parts
  if (span.trim() !== '') return 'this program records no spans, so a span name matches nothing'
  const fields = fieldText.split(',').map((field) => field.trim())
  if (fields.some((field) => field.includes('='))) {
    return 'values of fields belong to spans, which this program does not record; use the name alone'
  }
  return [...new Set(fields.filter((field) => field !== ''))].sort()
}

function parseLevel(text: string): FilterLevel | undefined {
  const word = text.toLowerCase()
  return /^[0-5]$/.test(word) ? levels[Number(word)] : levels.find((level) => level === word)
}
