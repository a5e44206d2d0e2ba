// Services that share endpoints, as agents of all nodes (host network) and many Services over one Deployment do: what the feed of names takes, and how long it keeps all else waiting.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { ZoneFeed } from '../../src/node/dns/feed/zone-feed.ts'
import { AppliedRevisions, LiveNodeState } from '../../src/node/state/index.ts'
import { readObject } from '../../src/node/state/stored-object.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { zoneSettings } from '../../test/helpers/dns-zone.ts'
import { dialect, wireService, wireSlice } from '../../test/helpers/wire-objects.ts'
import { type BenchRow, measureAlone } from '../report.ts'

const shapes = [
  { services: 5, endpoints: 300 },
  { services: 300, endpoints: 30 },
  { services: 300, endpoints: 300 },
] as const

/** In this process: the program has nothing else to do meanwhile. */
export async function measureShared(): Promise<BenchRow[]> {
  return [...(await measureManyServices()), ...(await measureLargeService())]
}

const largeEndpoints = 10_000
const perSlice = 100

/** A headless Service has a name for each endpoint, and all of them under its own. */
async function measureLargeService(): Promise<BenchRow[]> {
  const feeding = await Feeding.start()
  const what = `a headless Service of ${largeEndpoints} endpoints`
  const all = await feeding.time(() => feeding.listLarge(largeEndpoints))
  const one = await feeding.time(() => feeding.setLarge(3, 7))
  await feeding.stop()
  return [
    measureAlone(`${what}: all names`, 'ms', all.tookMs),
    measureAlone(`${what}: one goes`, 'ms', one.tookMs),
    measureAlone(`${what}: longest time in one turn`, 'ms', Math.max(all.longestMs, one.longestMs)),
  ]
}

async function measureManyServices(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const { services, endpoints } of shapes) {
    const feeding = await Feeding.start()
    const what = `${services} Services over the same ${endpoints} addresses`
    const all = await feeding.time(() => feeding.list(services, endpoints))
    const more = await feeding.time(() => feeding.setAll(services, endpoints + 1))
    await feeding.stop()
    rows.push(
      measureAlone(`${what}: all names`, 'ms', all.tookMs),
      measureAlone(`${what}: one pod more in each`, 'ms', more.tookMs),
      measureAlone(`${what}: longest time in one turn`, 'ms', Math.max(all.longestMs, more.longestMs)),
    )
  }
  return rows
}

class Feeding {
  readonly #state = new LiveNodeState(silentLogger)
  readonly #applied = new AppliedRevisions(this.#state)
  readonly #feed: ZoneFeed
  #version = 1

  private constructor() {
    this.#applied.register('dns')
    const parts = {
      state: this.#state,
      applied: this.#applied,
      onTable: () => {},
      onSynced: () => {},
      log: silentLogger,
    }
    this.#feed = new ZoneFeed(parts)
  }

  static async start(): Promise<Feeding> {
    const feeding = new Feeding()
    feeding.#feed.start()
    await feeding.#feed.changeZones([zoneSettings()])
    feeding.#feed.replaceNamespaces(new Map([['default', {}]]))
    return feeding
  }

  list(services: number, endpoints: number): void {
    const numbers = Array.from({ length: services }, (_, index) => index)
    const objects = numbers.map((number) => {
      const spec = { clusterIP: `10.97.${number >> 8}.${number & 255}` }
      return readObject('services', wireService(`s${number}`, this.#next(), spec), dialect)
    })
    this.#state.replace('services', objects, '1')
    this.#state.replace('endpoints', [], '1')
    this.#state.replace(
      'endpointslices',
      numbers.map((number) => this.#slice(number, endpoints)),
      '1',
    )
  }

  setAll(services: number, endpoints: number): void {
    for (let number = 0; number < services; number += 1)
      this.#state.upsert('endpointslices', this.#slice(number, endpoints))
  }

  /** One headless Service of many slices. */
  listLarge(endpoints: number): void {
    const service = wireService('large', this.#next(), { clusterIP: 'None' })
    this.#state.replace('services', [readObject('services', service, dialect)], '1')
    this.#state.replace('endpoints', [], '1')
    const slices = Array.from({ length: endpoints / perSlice }, (_, index) => this.#largeSlice(index))
    this.#state.replace('endpointslices', slices, '1')
  }

  /** The endpoint `down` of that slice goes. */
  setLarge(slice: number, down: number): void {
    this.#state.upsert('endpointslices', this.#largeSlice(slice, down))
  }

  #largeSlice(index: number, down = -1) {
    const endpoints = Array.from({ length: perSlice }, (_, number) => ({
      addresses: [`10.244.${index}.${number}`],
      conditions: { ready: number !== down },
      targetRef: { kind: 'Pod', namespace: 'default', name: `large-${index}-${number}` },
    }))
    return readObject('endpointslices', wireSlice(`large-${index}`, 'large', this.#next(), { endpoints }), dialect)
  }

  /** Until the feed has applied what `change` did; without the time of `change` itself. */
  async time(change: () => void): Promise<{ readonly tookMs: number; readonly longestMs: number }> {
    change()
    const turns = monitorEventLoopDelay({ resolution: 1 })
    await sleep(0)
    turns.enable()
    const startedMs = performance.now()
    while (this.#applied.report().planes['dns'] !== this.#state.revision) await sleep(2)
    turns.disable()
    return { tookMs: performance.now() - startedMs, longestMs: turns.max / 1e6 }
  }

  stop(): Promise<void> {
    return this.#feed.stop({ signal: AbortSignal.timeout(10_000) })
  }

  #slice(service: number, endpoints: number) {
    const addresses = Array.from({ length: endpoints }, (_, index) => ({
      addresses: [`10.244.${index >> 7}.${(index & 127) + 1}`],
    }))
    const slice = wireSlice(`s${service}-1`, `s${service}`, this.#next(), { endpoints: addresses })
    return readObject('endpointslices', slice, dialect)
  }

  #next(): string {
    this.#version += 1
    return String(this.#version)
  }
}
