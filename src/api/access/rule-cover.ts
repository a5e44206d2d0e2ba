import type { PolicyRule } from './policy-rule.ts'

/** The maximum number of steps of one role check, about a third of a second; a role that needs more is refused. */
const maxSteps = 5_000_000

/**
 * Returns the wanted rules that allow something which no held rule allows, and `undefined` when the comparison would be too large. A `*` is covered
 * only by a `*`. Verbs, groups, resources and names that are allowed by an equal set of held rules form one case, so that the work is not the product
 * of the lists: 3,000 verbs on 3,000 resources under one held rule are one case.
 */
export function rulesNotHeld(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): readonly PolicyRule[] | undefined {
  const work = { left: maxSteps }
  const sets = held.map(toSets)
  const missing = wanted.filter((rule) => !isCovered(sets, rule, work))
  return work.left < 0 ? undefined : missing
}

function isCovered(held: readonly RuleSets[], wanted: PolicyRule, work: Work): boolean {
  const names = wanted.resourceNames.length === 0 ? [''] : wanted.resourceNames
  const verbs = casesOf(wanted.verbs, held, (rule, verb) => hasOrAll(rule.verbs, verb), work)
  const paths = casesOf(wanted.nonResourceURLs, held, allowsPath, work)
  const resources = [
    casesOf(wanted.apiGroups, held, (rule, group) => hasOrAll(rule.apiGroups, group), work),
    casesOf(wanted.resources, held, allowsResource, work),
    casesOf(names, held, (rule, name) => rule.resourceNames.size === 0 || rule.resourceNames.has(name), work),
  ]
  return areMet([verbs, paths], work) && areMet([verbs, ...resources], work)
}

interface RuleSets {
  readonly verbs: ReadonlySet<string>
  readonly apiGroups: ReadonlySet<string>
  readonly resources: ReadonlySet<string>
  readonly resourceNames: ReadonlySet<string>
  readonly paths: ReadonlySet<string>
  /** The paths that end with `*`, without it. */
  readonly pathPrefixes: readonly string[]
}

/** The indexes of the held rules that allow one case. */
type Allowing = readonly number[]

interface Work {
  left: number
}

function toSets({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): RuleSets {
  return {
    verbs: new Set(verbs),
    apiGroups: new Set(apiGroups),
    resources: new Set(resources),
    resourceNames: new Set(resourceNames),
    paths: new Set(nonResourceURLs),
    pathPrefixes: nonResourceURLs.filter((path) => path.endsWith('*')).map((path) => path.slice(0, -1)),
  }
}

function casesOf(
  values: readonly string[],
  held: readonly RuleSets[],
  allows: (rule: RuleSets, value: string) => boolean,
  work: Work,
): readonly Allowing[] {
  const cases = new Map<string, Allowing>()
  for (const value of new Set(values)) {
    work.left -= held.length
    if (work.left < 0) return []
    const allowing = held.flatMap((rule, index) => (allows(rule, value) ? [index] : []))
    cases.set(allowing.join(), allowing)
  }
  return [...cases.values()]
}

/** Checks whether, for each combination of one case of each kind, one held rule allows all of it. */
function areMet([first = [], ...rest]: readonly (readonly Allowing[])[], work: Work): boolean {
  if (rest.some((cases) => cases.length === 0)) return true
  return first.every((allowing) => isMet(allowing, rest, work))
}

function isMet(allowing: Allowing, [next, ...rest]: readonly (readonly Allowing[])[], work: Work): boolean {
  if (allowing.length === 0 || work.left < 0) return false
  if (next === undefined) return true
  const indexes = new Set(allowing)
  return next.every((each) => {
    work.left -= each.length + 1
    return isMet(
      each.filter((index) => indexes.has(index)),
      rest,
      work,
    )
  })
}

/** Checks whether the rule covers the resource: `*` covers everything; `*` with a subresource covers that subresource of everything. */
function allowsResource({ resources }: RuleSets, resource: string): boolean {
  const slash = resource.indexOf('/')
  return hasOrAll(resources, resource) || (slash >= 0 && resources.has(`*${resource.slice(slash)}`))
}

function allowsPath({ paths, pathPrefixes }: RuleSets, path: string): boolean {
  return paths.has(path) || pathPrefixes.some((prefix) => path.startsWith(prefix))
}

function hasOrAll(values: ReadonlySet<string>, wanted: string): boolean {
  return values.has('*') || values.has(wanted)
}
