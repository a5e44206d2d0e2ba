import { RE2JS } from 're2js'
import type { MatchKind } from './settings.ts'

/** A name (folded text with its final dot) in, what it becomes out; undefined where it does not match. */
export type NameChange = (name: string) => string | undefined

/** How `from` becomes `to`; prefixes, suffixes and substrings keep the rest of the name. */
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

/** A name that matches anywhere becomes the replacement, with `{0}` the match and `{1}` … its groups. */
export function patternChange(pattern: string, replacement: string): NameChange {
  const compiled = RE2JS.compile(pattern)
  return (name) => {
    const matcher = compiled.matcher(name)
    if (!matcher.find()) return undefined
    return replacement.replace(/\{(\d+)\}/g, (_, group: string) => matcher.group(Number(group)) ?? '')
  }
}
