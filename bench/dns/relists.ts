// What clients see while the API server goes away, comes back without the history it had, and everything is listed anew.
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiClient, loadKubeconfig } from '../../src/client/index.ts'
import { type BenchRow, compare, measureAlone, percentile } from '../report.ts'
import { dataDir, forceRelist, nameOf, type RunningApi, serviceObject, services } from './cluster.ts'
import type { Peers } from './compare-loads.ts'
import type { LoadTarget } from './load.ts'
import { isFound, type PingsSeen, startPings, untilAnswered } from './pings.ts'

/** One is over in about a second, too short for a percentile; that of a peer takes longer, as it waits before it comes back. */
const [ourRounds, peerRounds] = [3, 1]

/** An informer whose watch ended sooner waits before it lists, and questions in that time would say nothing. */
const lastingWatchMs = 1_500

interface Measured {
  /** The figure of the server that lists. */
  readonly own: PingsSeen
  /** The figure of an idle dnsmasq at the same time: what two busy cores do to any server. */
  readonly idle: PingsSeen
}

/** Each alone: a node has one DNS server, and no other server lists there. Ends the servers that are measured, and the API server. */
export async function measureRelists(
  api: RunningApi,
  { ours, watching, fixed }: { readonly ours: LoadTarget; readonly watching: Peers; readonly fixed: Peers },
  services: number,
): Promise<BenchRow[]> {
  const idle = fixed['dnsmasq'] ?? ours
  const relists = new Relists(api, idle, services)
  for (const { pid } of Object.values(watching)) process.kill(pid, 'SIGSTOP')
  const { own, idle: beside } = await relists.measure(ours, ourRounds)
  process.kill(ours.pid, 'SIGKILL')
  const what = `answers while ${services} Services are relisted`
  const rows = [
    ...(fixed['dnsmasq'] === undefined
      ? [0.5, 0.99, 0.999].map((share) => measureAlone(`${what}, p${share * 100}`, 'ms', percentile(own.tookMs, share)))
      : compareTimes(`${what}, beside`, own, 'dnsmasq, which lists nothing', beside)),
    measureAlone(`${what}: questions without an answer of ${own.tookMs.length}`, '', own.lost),
  ]
  for (const [name, peer] of Object.entries(watching)) {
    process.kill(peer.pid, 'SIGCONT')
    rows.push(...compareTimes(what, own, name, (await relists.measure(peer, peerRounds)).own))
  }
  await relists.end()
  return rows
}

function compareTimes(what: string, own: PingsSeen, name: string, theirs: PingsSeen): readonly BenchRow[] {
  return [0.5, 0.99, 0.999].map((share) =>
    compare(`${what}, p${share * 100}`, 'ms', percentile(own.tookMs, share), name, percentile(theirs.tookMs, share)),
  )
}

class Relists {
  readonly #idle: LoadTarget
  #api: RunningApi
  /** The number of the next Service that is not there yet. */
  #next: number

  constructor(api: RunningApi, idle: LoadTarget, services: number) {
    this.#api = api
    this.#idle = idle
    this.#next = services
  }

  async measure(target: LoadTarget, rounds: number): Promise<Measured> {
    const seen: Measured[] = []
    for (let round = 0; round < rounds; round += 1) seen.push(await this.#measureOnce(target))
    return { own: together(seen.map(({ own }) => own)), idle: together(seen.map(({ idle }) => idle)) }
  }

  async end(): Promise<void> {
    await this.#api.stop({ signal: AbortSignal.timeout(10_000) })
  }

  /** From before the API server goes away until what was written after it came back is known. */
  async #measureOnce(target: LoadTarget): Promise<Measured> {
    const name = nameOf(this.#next)
    if (this.#next > 0) await untilAnswered(target, nameOf(this.#next - 1), isFound)
    await sleep(lastingWatchMs)
    const own = await startPings(target, nameOf(0), 1)
    const idle = await startPings(this.#idle, nameOf(0), 1)
    this.#api = await forceRelist(this.#api)
    await new ApiClient(await loadKubeconfig(`${dataDir}/admin.kubeconfig`)).create(services, serviceObject(this.#next))
    this.#next += 1
    await untilAnswered(target, name, isFound)
    return { own: await own.finish(), idle: await idle.finish() }
  }
}

function together(seen: readonly PingsSeen[]): PingsSeen {
  return { tookMs: seen.flatMap(({ tookMs }) => tookMs), lost: seen.reduce((sum, { lost }) => sum + lost, 0) }
}
