import type { HostPattern } from '../../../model/routing-table.ts'
import { type Command, mapId, payloads, quoteWord } from './command.ts'
import type { Holding } from './holding.ts'
import { type HostEntries, linesOf, type MapEntry, type MapName, mapNames } from './map-entries.ts'

/** Changes of entries beyond which a map is written anew: haproxy 2.6 looks for an entry to change or delete in a list of all. */
const maxSingleChanges = 64
/** A payload leaves room for the command before it. */
const payloadBytes = 8192

const routeMaps = mapNames.filter((name) => name !== 'backends')

interface MapChanges {
  readonly added: MapEntry[]
  readonly changed: MapEntry[]
  readonly removed: MapEntry[]
}

/** Commands for the routes: `before` makes the new routes known, `after` removes what no request should find. */
interface RouteCommands {
  readonly before: readonly Command[]
  readonly after: readonly Command[]
}

/** In this order of new paths, and the other one of paths that go, no request meets a shorter path in place of its own. */
function longestFirst(one: MapEntry, other: MapEntry): number {
  return other.key.length - one.key.length
}

/** Compares the entries of these patterns. A map that changes in many entries is written anew in one transaction. */
export function diffRoutes(
  { routes: held, hasBrokenMaps }: Pick<Holding, 'routes' | 'hasBrokenMaps'>,
  wanted: Holding['routes'],
  patterns: Iterable<HostPattern>,
): RouteCommands {
  if (hasBrokenMaps) return { before: routeMaps.toReversed().flatMap((name) => replaceMap(name, wanted)), after: [] }
  const changes = compareEntries(held, wanted, patterns)
  const before: Command[] = []
  const after: Command[] = []
  // New hosts become known after their routes; hosts that are gone are forgotten before them.
  for (const name of routeMaps.toReversed()) {
    const { added, changed, removed } = changes[name]
    if (changed.length + removed.length > maxSingleChanges) {
      before.push(...replaceMap(name, wanted))
      continue
    }
    before.push(...addEntries(added.toSorted(longestFirst)), ...changed.map(setEntry))
  }
  for (const name of routeMaps) {
    const { changed, removed } = changes[name]
    if (changed.length + removed.length <= maxSingleChanges)
      after.push(...removed.toSorted(longestFirst).reverse().map(deleteEntry))
  }
  return { before, after }
}

export function addEntries(entries: readonly MapEntry[]): readonly Command[] {
  const [first] = entries
  if (first === undefined) return []
  const lines = entries.map(({ key, value }) => `${key} ${value}`)
  return payloads(lines, payloadBytes).map((text) => ({ text: `add map ${mapId(first.map)} <<\n${text}` }))
}

function setEntry({ map, key, value }: MapEntry): Command {
  return { text: `set map ${mapId(map)} ${quoteWord(key)} ${quoteWord(value)}` }
}

export function deleteEntry({ map, key }: Pick<MapEntry, 'map' | 'key'>): Command {
  return { text: `del map ${mapId(map)} ${quoteWord(key)}` }
}

/** `VERSION` in these commands stands for the number that `prepare map` answers. */
function replaceMap(name: MapName, wanted: Holding['routes']): readonly Command[] {
  const entries = Array.from(wanted).flatMap(([pattern, host]) => [...linesOf(pattern, host)])
  const lines = entries.filter(({ map }) => map === name).map(({ key, value }) => `${key} ${value}`)
  return [
    { text: `prepare map ${mapId(name)}`, success: /^New version created: \d+$/ },
    ...payloads(lines, payloadBytes).map((text) => ({ text: `add map @VERSION ${mapId(name)} <<\n${text}` })),
    { text: `commit map @VERSION ${mapId(name)}` },
  ]
}

function compareEntries(
  held: Holding['routes'],
  wanted: Holding['routes'],
  patterns: Iterable<HostPattern>,
): Record<MapName, MapChanges> {
  const changes = Object.fromEntries(
    mapNames.map((name) => [name, { added: [], changed: [], removed: [] }]),
  ) as unknown as Record<MapName, MapChanges>
  for (const pattern of patterns) compareHost(changes, pattern, held.get(pattern), wanted.get(pattern))
  return changes
}

function compareHost(
  changes: Record<MapName, MapChanges>,
  pattern: HostPattern,
  held: HostEntries | undefined,
  wanted: HostEntries | undefined,
): void {
  const had = new Map(held === undefined ? [] : Array.from(linesOf(pattern, held), (line) => [idOf(line), line]))
  for (const line of wanted === undefined ? [] : linesOf(pattern, wanted)) {
    const before = had.get(idOf(line))
    had.delete(idOf(line))
    if (before === undefined) changes[line.map].added.push(line)
    else if (before.value !== line.value) changes[line.map].changed.push(line)
  }
  for (const line of had.values()) changes[line.map].removed.push(line)
}

function idOf({ map, key }: MapEntry): string {
  return `${map} ${key}`
}
