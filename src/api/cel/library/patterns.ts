import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { ItemList } from '../values/lists.ts'
import { CelError, type Value } from '../values/values.ts'
import type { CelFunction } from './declarations.ts'

const compiled = new LRUCache<string, RE2JS>({ max: 500 })

/** Returns why a text is no RE2 pattern, in Go's wording; undefined for a valid one. */
export function patternProblem(text: string): string | undefined {
  const pattern = patternOf(text)
  return pattern instanceof RE2JS ? undefined : pattern
}

function patternOf(text: string): RE2JS | string {
  const known = compiled.get(text)
  if (known !== undefined) return known
  try {
    const pattern = RE2JS.compile(text)
    compiled.set(text, pattern)
    return pattern
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown)
  }
}

function withPattern(pattern: string, prefix: string, work: (pattern: RE2JS) => Value): Value {
  const found = patternOf(pattern)
  return typeof found === 'string' ? new CelError(`${prefix}${found}`) : work(found)
}

function matches(text: string, pattern: string): Value {
  return withPattern(pattern, '', (found) => found.matcher(text).find())
}

function find(text: string, pattern: string): Value {
  return withPattern(pattern, 'Illegal regex: ', (found) => {
    const matcher = found.matcher(text)
    return matcher.find() ? (matcher.group() ?? '') : ''
  })
}

function findAll(text: string, pattern: string, limit: bigint | object): Value {
  const most = typeof limit === 'bigint' && limit >= 0n ? Number(limit) : Number.POSITIVE_INFINITY
  return withPattern(pattern, 'Illegal regex: ', (found) => {
    const matcher = found.matcher(text)
    const texts: string[] = []
    while (texts.length < most && matcher.find()) texts.push(matcher.group() ?? '')
    return new ItemList(texts)
  })
}

/** The functions with RE2 patterns, which match in linear time. */
export const patternFunctions: readonly CelFunction[] = [
  ['matches(string, string): bool', matches],
  ['string.matches(string): bool', matches],
  ['string.find(string): string', find],
  ['string.findAll(string): list(string)', findAll],
  ['string.findAll(string, int): list(string)', findAll],
]
