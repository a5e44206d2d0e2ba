// The same load on each server, one after the other.
import { type BenchRow, compare, measureAlone } from '../report.ts'
import { type LoadSeen, type LoadTarget, loadServer } from './load.ts'

export type Peers = Readonly<Record<string, LoadTarget>>

/** Ours is measured before and after the peers, and the mean taken. */
export async function compareLoads(
  what: string,
  ours: LoadTarget,
  peers: Peers,
  queries: readonly string[],
  seconds: number,
): Promise<BenchRow[]> {
  const first = await loadServer(ours, queries, seconds)
  const seen: [string, LoadSeen][] = []
  for (const [name, peer] of Object.entries(peers)) seen.push([name, await loadServer(peer, queries, seconds)])
  const second = await loadServer(ours, queries, seconds)
  const mean = {
    cpuMicrosPerQuery: (first.cpuMicrosPerQuery + second.cpuMicrosPerQuery) / 2,
    queriesPerSecond: (first.queriesPerSecond + second.queriesPerSecond) / 2,
  }
  return [
    ...(seen.length === 0 ? ownRows(what, mean) : seen.flatMap(([name, load]) => loadRows(what, mean, name, load))),
    measureAlone(`${what}: queries without an answer`, '', first.lost + second.lost),
  ]
}

/** Names that were never asked for, other ones for each server. */
export async function compareUncached(ours: LoadTarget, peers: Peers, seconds: number): Promise<BenchRow[]> {
  const load = (target: LoadTarget, label: string) =>
    loadServer(
      target,
      Array.from({ length: 200_000 }, (_, index) => `${label}-${index}.example.test A`),
      seconds,
    )
  const mine = await load(ours, 'p')
  const rows: BenchRow[] = Object.keys(peers).length === 0 ? [...ownRows('forwarded names, not cached', mine)] : []
  for (const [name, peer] of Object.entries(peers))
    rows.push(...loadRows('forwarded names, not cached', mine, name, await load(peer, name.toLowerCase())))
  return rows
}

type Cost = Pick<LoadSeen, 'cpuMicrosPerQuery' | 'queriesPerSecond'>

function ownRows(what: string, ours: Cost): readonly BenchRow[] {
  return [
    measureAlone(`${what}: CPU per query`, 'µs', ours.cpuMicrosPerQuery),
    measureAlone(`${what}: queries per second`, '1/s', ours.queriesPerSecond),
  ]
}

function loadRows(what: string, ours: Cost, name: string, theirs: Cost): readonly BenchRow[] {
  return [
    compare(`${what}: CPU per query`, 'µs', ours.cpuMicrosPerQuery, name, theirs.cpuMicrosPerQuery),
    compare(`${what}: queries per second`, '1/s', ours.queriesPerSecond, name, theirs.queriesPerSecond),
  ]
}
