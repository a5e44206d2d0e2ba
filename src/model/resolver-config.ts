import { type Ip, parseIp } from './ip.ts'

/** The content of a resolver file (resolv.conf(5)). */
export interface ResolverConfig {
  readonly nameservers: readonly Ip[]
  readonly searches: readonly string[]
  /** The options in the file's notation: `ndots:5`, `rotate`. */
  readonly options: readonly string[]
}

/** libc reads three nameservers (MAXNS), and 32 search names of 2048 characters in all is what Kubernetes lets a pod have. */
const resolverLimits = { nameservers: 3, searches: 32, searchCharacters: 2048 } as const

export interface LimitedResolverConfig {
  readonly config: ResolverConfig
  /** One sentence for each omission, with its reason. */
  readonly problems: readonly string[]
}

const searchPattern = /^(?=.{1,254}$)(\.|[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?)$/
const optionPattern = /^[A-Za-z][A-Za-z0-9-]{0,62}(:[A-Za-z0-9._-]{1,63})?$/

/** Parses a resolver file like libc: unknown lines are ignored, the last `search` or `domain` wins. A zone after `%` is dropped. */
export function parseResolverConfig(text: string): ResolverConfig {
  const nameservers: Ip[] = []
  const options: string[] = []
  let searches: readonly string[] = []
  for (const line of text.split('\n')) {
    const [keyword, ...words] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/)
    const address = keyword === 'nameserver' ? parseIp((words[0] ?? '').replace(/%.*$/, '')) : undefined
    if (address !== undefined) nameservers.push(address)
    if (keyword === 'search') searches = words
    if (keyword === 'domain') searches = words.slice(0, 1)
    if (keyword === 'options') options.push(...words)
  }
  return { nameservers: unique(nameservers), searches: unique(searches), options: unique(options) }
}

/** Renders the file's text; equal settings give equal text. */
export function renderResolverConfig({ nameservers, searches, options }: ResolverConfig): string {
  const lines = [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...nameservers.map((address) => `nameserver ${address}`),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

/** Omits what libc would not read and what the file cannot express; a repeated name counts once. */
export function limitResolverConfig(config: ResolverConfig): LimitedResolverConfig {
  const problems: string[] = []
  const keep = <T extends string>(what: string, items: readonly T[], isSound: (item: T) => boolean) =>
    unique(items).filter((item) => {
      if (isSound(item)) return true
      problems.push(`the ${what} ${JSON.stringify(item.slice(0, 80))} is not one that a resolver file can hold`)
      return false
    })
  const nameservers = keep('nameserver', config.nameservers, (address) => parseIp(address) !== undefined)
  const searches = keep('search name', config.searches, (name) => searchPattern.test(name))
  const options = keep('option', config.options, (option) => optionPattern.test(option))
  return {
    config: {
      nameservers: cut('nameservers', nameservers, resolverLimits.nameservers, problems),
      searches: cutSearches(searches, problems),
      options,
    },
    problems,
  }
}

function cut<T>(what: string, items: readonly T[], limit: number, problems: string[]): readonly T[] {
  if (items.length > limit)
    problems.push(`${items.length} ${what}, of which a resolver reads the first ${limit}; the others are left out`)
  return items.slice(0, limit)
}

function cutSearches(searches: readonly string[], problems: string[]): readonly string[] {
  const kept: string[] = []
  for (const name of cut('search names', searches, resolverLimits.searches, problems)) {
    if ([...kept, name].join(' ').length > resolverLimits.searchCharacters) {
      problems.push(
        `the search names are longer than ${resolverLimits.searchCharacters} characters; the last are left out`,
      )
      break
    }
    kept.push(name)
  }
  return kept
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)]
}
