import type { IpFamily } from '../../model/ip.ts'
import { BadElementError } from '../errors.ts'
import { setSpecs, timeoutOf } from './set-specs.ts'
import {
  type ElementChange,
  type NftType,
  type SetElement,
  type SetSpec,
  stateSet,
  type TableName,
  type TableState,
} from './types.ts'

/**
 * Renders the commands that make these changes, for libnftables or `nft -f`: all removals, then all additions, each set once,
 * then the state where it is given. One text is one transaction. An element of several changes stands once.
 *
 * @throws BadElementError for an element that must not become text
 */
export function renderChange(table: TableName, changes: readonly ElementChange[], state?: TableState): string {
  const target = `${table.family === 'IPv4' ? 'ip' : 'ip6'} ${table.name}`
  return [
    ...renderElements(
      'delete',
      target,
      table.family,
      changes.flatMap(({ remove }) => remove),
    ),
    ...renderElements(
      'add',
      target,
      table.family,
      changes.flatMap(({ add }) => add),
    ),
    ...(state === undefined ? [] : renderState(target, state)),
  ].join('')
}

/** Renders the comment of the state's element. */
export function renderStateComment({ version, objects, listing }: TableState): string {
  for (const word of [version, objects, listing])
    if (!/^[\da-f]{1,32}$/.test(word))
      throw new BadElementError(stateSet, word, 'expected at most 32 hexadecimal digits')
  return `version ${version} objects ${objects} listing ${listing}`
}

/** Reads what `renderStateComment` wrote; undefined for anything else. */
export function parseStateComment(comment: string): TableState | undefined {
  const [, version, objects, listing] = /^version (\w+) objects (\w+) listing (\w+)$/.exec(comment) ?? []
  return version === undefined || objects === undefined || listing === undefined
    ? undefined
    : { version, objects, listing }
}

/** The element may stand there or not: no command removes an element only where it is. */
function renderState(target: string, state: TableState): readonly string[] {
  const element = `${target} ${stateSet} { 1`
  return [
    `add element ${element} }\ndelete element ${element} }\n`,
    `add element ${element} comment "${renderStateComment(state)}" }\n`,
  ]
}

function renderElements(
  verb: 'add' | 'delete',
  target: string,
  family: IpFamily,
  elements: readonly SetElement[],
): readonly string[] {
  const bySet = elementsBySet(verb, elements, family)
  return Array.from(bySet, ([set, texts]) => `${verb} element ${target} ${set} { ${[...texts.keys()].join(', ')} }\n`)
}

/**
 * Returns the elements of each set by their text in a command, each once.
 *
 * @throws BadElementError for an element that is none of its set
 */
export function elementsBySet(
  verb: 'add' | 'delete',
  elements: readonly SetElement[],
  family: IpFamily,
): ReadonlyMap<string, ReadonlyMap<string, SetElement>> {
  const bySet = new Map<string, Map<string, SetElement>>()
  for (const element of elements) {
    const ofSet = bySet.get(element.set) ?? new Map<string, SetElement>()
    bySet.set(element.set, ofSet.set(renderElement(verb, element, family), element))
  }
  return bySet
}

/** The kernel removes an element by its key, whatever its data. */
function renderElement(verb: 'add' | 'delete', element: SetElement, family: IpFamily): string {
  checkElement(element, family)
  const { key, data } = element
  return data === '' || verb === 'delete' ? key : `${key} : ${data}`
}

/** Throws BadElementError for an element that is none of its set. */
function checkElement({ set, key, data }: SetElement, family: IpFamily): void {
  const patterns = patternsOf(set, family)
  if (patterns === undefined) throw new BadElementError(set, key, 'expected a set that the table declares')
  if (!patterns.key.test(key)) throw new BadElementError(set, key, 'expected a key of the set')
  if (!patterns.data.test(data)) {
    throw new BadElementError(set, key, `expected data of the map, or nothing for a set, found ${JSON.stringify(data)}`)
  }
}

interface ElementPatterns {
  readonly key: RegExp
  readonly data: RegExp
}

const patterns: Readonly<Record<IpFamily, Map<string, ElementPatterns>>> = { IPv4: new Map(), IPv6: new Map() }

function patternsOf(set: string, family: IpFamily): ElementPatterns | undefined {
  const known = patterns[family].get(set)
  if (known !== undefined) return known
  const timeout = timeoutOf(set)
  const spec = setSpecs(family, timeout === undefined ? [] : [timeout]).find(({ name }) => name === set)
  if (spec === undefined) return undefined
  const made = { key: patternOf(spec.key, spec), data: patternOf(spec.data, undefined) }
  patterns[family].set(set, made)
  return made
}

const fieldPatterns: Readonly<Record<NftType, string>> = {
  ipv4_addr: String.raw`(?:\d{1,3}\.){3}\d{1,3}`,
  ipv6_addr: String.raw`[\da-f:]*:[\da-f:]*`,
  inet_proto: '(?:tcp|udp|sctp)',
  inet_service: String.raw`\d{1,5}`,
  classid: '[\\da-f]{1,4}:[\\da-f]{1,4}',
}

/** Ranges that are no networks, as other programs may add them, are removed in the kernel's form: `10.0.0.1-10.0.0.6`. */
function patternOf(types: readonly NftType[], spec: SetSpec | undefined): RegExp {
  const fields = types.map((type) => fieldPatterns[type])
  const range = spec?.isInterval === true ? `(?:/\\d{1,3}|-${fields.at(-1)})?` : ''
  return new RegExp(`^${fields.join(String.raw` \. `)}${range}$`)
}
