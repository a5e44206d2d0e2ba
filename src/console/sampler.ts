import { Periodic } from '../loop/periodic.ts'
import { metricNames, type Point, pointBetween, seriesOf, type Totals, totalsOf } from './samples.ts'
import type { ConsoleSource } from './source.ts'

/** A point with its wall-clock time, milliseconds since 1970. */
export type TimedPoint = readonly [atMs: number, ...values: Point]

const sampleIntervalMs = 5_000
/** A quarter of an hour. */
const maxPoints = 180

interface SamplerParts extends Pick<ConsoleSource, 'charts' | 'read' | 'log'> {
  readonly onPoint: (point: TimedPoint) => void
  readonly intervalMs?: number
}

/** Reads the metrics of the charts at an interval and keeps the newest points. */
export class Sampler {
  readonly #parts: SamplerParts
  readonly #names: readonly string[]
  #points: readonly TimedPoint[] = []
  #last: Totals | undefined

  constructor(parts: SamplerParts) {
    this.#parts = parts
    this.#names = metricNames(parts.charts)
  }

  get points(): readonly TimedPoint[] {
    return this.#points
  }

  /** Begins to sample; returns what ends it. The points stay: a viewer who comes back soon sees them with a gap. */
  start(): () => Promise<void> {
    const { intervalMs = sampleIntervalMs, log } = this.#parts
    this.#last = undefined
    const periodic = new Periodic(() => this.#sample(), {
      intervalMs,
      firstAfterMs: 0,
      onError: (error) => log.warn('the metrics for the console could not be read', { error }),
    })
    periodic.start()
    return () => periodic.stop({ signal: AbortSignal.timeout(1_000) })
  }

  async #sample(): Promise<void> {
    const { charts, read, onPoint } = this.#parts
    const series = seriesOf(charts)
    const totals = totalsOf(series, await read(this.#names), performance.now())
    const before = this.#last
    this.#last = totals
    if (before === undefined) return
    const point: TimedPoint = [Date.now(), ...pointBetween(series, before, totals)]
    this.#points = [...this.#points, point].slice(-maxPoints)
    onPoint(point)
  }
}
