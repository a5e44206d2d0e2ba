import { RE2JS } from 're2js'
import type { MatchKind } from './settings.ts'

/** Returns what a name (text in lower case with its final dot) becomes, or undefined where it does not match. */
export type NameChange = (name: string) => string | undefined

/** Returns the change from `from` to `to`. Prefixes, suffixes and substrings keep the rest of the name. */
export function nameChange(match: MatchKind, from: string, to: string): NameChange {
  switch (match) {
    case 'exact':
      return (name) => (name === from ? to : undefined)
    case 'prefix':
      return (name) => (name.startsWith(from) ? to + name.slice(from.length) : undefined)
    case 'suffix':
      return (name) => (name.endsWith(from) ? name.slice(0, name.length - from.length) + to : undefined)
    case 'substring':
      return (name) => (name.includes(from) ? name.replaceAll(from, to) : undefined)
    case 'regex':
      return patternChange(from, to)
  }
}

/** Returns a change that replaces a name where the pattern matches it; `{0}` is the match, `{1}` … are its groups. */
export function patternChange(pattern: string, replacement: string): NameChange {
  const compiled = RE2JS.compile(pattern)
  return (name) => {
    const matcher = compiled.matcher(name)
    if (!matcher.find()) return undefined
    return replacement.replace(/\{(\d+)\}/g, (_, group: string) => matcher.group(Number(group)) ?? '')
  }
}
