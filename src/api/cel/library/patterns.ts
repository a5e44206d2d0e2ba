import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import type { CelFunction } from '../environment.ts'
import type { CostMeter } from '../meter.ts'
import { CelFailure } from './failure.ts'

const compiled = new LRUCache<string, RE2JS>({ max: 500 })

/** Throws CelFailure for what is no pattern of RE2. */
export function patternOf(text: string): RE2JS {
  const known = compiled.get(text)
  if (known !== undefined) return known
  try {
    const pattern = RE2JS.compile(text)
    compiled.set(text, pattern)
    return pattern
  } catch (thrown) {
    throw new CelFailure(`Illegal regex: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
  }
}

/** RE2 in place of the library's own patterns, which take exponential time; `matches` is called by this name after parsing. */
export function patternFunctions(meter: CostMeter): readonly CelFunction[] {
  const prepare = (text: string, pattern: string) => {
    meter.spend(Math.ceil((text.length / 10) * Math.max(1, pattern.length / 4)))
    return patternOf(pattern).matcher(text)
  }
  const findAll = (text: string, pattern: string, limit: bigint): string[] => {
    const matcher = prepare(text, pattern)
    const found: string[] = []
    while ((limit < 0n || BigInt(found.length) < limit) && matcher.find()) found.push(matcher.group() ?? '')
    return found
  }
  return [
    ['string.matchesRe2(string): bool', (text: string, pattern: string) => prepare(text, pattern).find()],
    ['matchesRe2(string, string): bool', (text: string, pattern: string) => prepare(text, pattern).find()],
    [
      'string.find(string): string',
      (text: string, pattern: string) => {
        const matcher = prepare(text, pattern)
        return matcher.find() ? (matcher.group() ?? '') : ''
      },
    ],
    ['string.findAll(string): list<string>', (text: string, pattern: string) => findAll(text, pattern, -1n)],
    ['string.findAll(string, int): list<string>', findAll],
  ]
}
