import { el, fill, setText, svg } from './dom.js'
import { clock, quantity } from './format.js'
import { maxPoints } from './store.js'

/** @import { Chart } from './store.js' */
/** @import { TimedPoint } from '../sampler.ts' */

const [width, height] = [360, 96]
const intervalMs = 5_000
/** The time axis grows with the points, from a minute to a quarter of an hour. */
const [shortestMs, longestMs] = [60_000, maxPoints * intervalMs]

/** One chart over the last quarter of an hour: lines, the scale, and the values now or under the pointer. */
class ChartView {
  #chart
  #offset
  /** @type {readonly TimedPoint[]} */
  #points = []
  /** @type {number | undefined} index of the point under the pointer */
  #pointed
  #spanMs = shortestMs
  #top = el('span', { class: 'chart-top' })
  #when = el('span', { class: 'chart-when' })
  #values
  #lines
  #area = svg('path', { class: 'chart-area' })
  #cursor = svg('line', { class: 'chart-cursor', y1: 0, y2: height, x1: -1, x2: -1 })

  /**
   * @param {Chart} chart
   * @param {number} offset of its first series in a point
   */
  constructor(chart, offset) {
    this.#chart = chart
    this.#offset = offset
    this.#area.classList.add(`tone-${chart.series[0]?.tone ?? 'main'}`)
    this.#lines = chart.series.map(({ tone }) => svg('path', { class: `chart-line tone-${tone}` }))
    this.#values = chart.series.map(() => el('b', {}))
    const legend = chart.series.map(({ label, tone }, index) =>
      el('span', { class: `legend tone-${tone}` }, label, ' ', this.#values[index]),
    )
    const picture = svg(
      'svg',
      {
        viewBox: `0 0 ${width} ${height}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': `${chart.title}, up to the last 15 minutes`,
        pointermove: (event) => this.#point(event),
        pointerleave: () => this.#leave(),
      },
      ...[0.5, 1].map((share) =>
        svg('line', { class: 'chart-grid', x1: 0, x2: width, y1: height * share - 0.5, y2: height * share - 0.5 }),
      ),
      this.#area,
      ...this.#lines,
      this.#cursor,
    )
    this.element = el(
      'section',
      { class: 'chart', id: `chart-${chart.id}` },
      el('header', {}, el('h3', {}, chart.title), this.#when),
      el('div', { class: 'chart-picture' }, this.#top, picture),
      el('footer', {}, legend),
    )
  }

  /** @param {readonly TimedPoint[]} points */
  draw(points) {
    this.#points = points
    const series = this.#chart.series.map((_, index) => points.map((point) => point[1 + this.#offset + index] ?? null))
    const highest = niceCeiling(Math.max(0, ...series.flat().filter((value) => value !== null)))
    const end = points.at(-1)?.[0] ?? Date.now()
    this.#spanMs = Math.min(Math.max(end - (points[0]?.[0] ?? end), shortestMs), longestMs)
    const runs = series.map((values) => findRuns(points, values, { highest, endMs: end, spanMs: this.#spanMs }))
    for (const [index, line] of this.#lines.entries()) line.setAttribute('d', linePath(runs[index] ?? []))
    this.#area.setAttribute('d', areaPath(runs[0] ?? []))
    setText(this.#top, quantity(highest, this.#chart.unit))
    this.#showValues()
  }

  /** @param {PointerEvent} event */
  #point(event) {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect()
    const end = this.#points.at(-1)?.[0]
    if (end === undefined) return
    const atMs = end - (1 - (event.clientX - box.left) / box.width) * this.#spanMs
    const distances = this.#points.map(([pointMs]) => Math.abs(pointMs - atMs))
    this.#pointed = distances.indexOf(Math.min(...distances))
    const x = width * (1 - (end - (this.#points[this.#pointed]?.[0] ?? end)) / this.#spanMs)
    this.#cursor.setAttribute('x1', String(x))
    this.#cursor.setAttribute('x2', String(x))
    this.#showValues()
  }

  #leave() {
    this.#pointed = undefined
    this.#cursor.setAttribute('x1', '-1')
    this.#cursor.setAttribute('x2', '-1')
    this.#showValues()
  }

  #showValues() {
    const point = this.#points[this.#pointed ?? this.#points.length - 1]
    const minutes = Math.round(this.#spanMs / 60_000)
    const span = point === undefined ? 'waiting for the first value' : `${minutes} min`
    setText(this.#when, this.#pointed === undefined || point === undefined ? span : clock(point[0]))
    for (const [index, value] of this.#values.entries())
      setText(value, quantity(point?.[1 + this.#offset + index], this.#chart.unit))
  }
}

/**
 * Places the values on the picture, in runs without a gap between their points.
 *
 * @param {readonly TimedPoint[]} points
 * @param {readonly (number | null)[]} values
 * @param {{ highest: number, endMs: number, spanMs: number }} axes
 */
function findRuns(points, values, { highest, endMs, spanMs }) {
  /** @type {[x: string, y: string][][]} */
  const runs = []
  let lastMs = Number.NEGATIVE_INFINITY
  for (const [index, value] of values.entries()) {
    const atMs = points[index]?.[0] ?? 0
    if (value === null) continue
    const x = (width * (1 - (endMs - atMs) / spanMs)).toFixed(1)
    const y = (height - 1 - (highest === 0 ? 0 : (value / highest) * (height - 4))).toFixed(1)
    if (atMs - lastMs > 2.5 * intervalMs) runs.push([])
    runs.at(-1)?.push([x, y])
    lastMs = atMs
  }
  return runs
}

/** @param {readonly (readonly [x: string, y: string])[][]} runs */
function linePath(runs) {
  // A lone point is a short line, so that it is seen.
  return runs
    .map(([[x, y] = ['', ''], ...rest]) => `M${x} ${y}h0.8${rest.map(([x, y]) => `L${x} ${y}`).join('')}`)
    .join('')
}

/** @param {readonly (readonly [x: string, y: string])[][]} runs */
function areaPath(runs) {
  return runs
    .map(
      (run) => `M${run[0]?.[0]} ${height}${run.map(([x, y]) => `L${x} ${y}`).join('')}L${run.at(-1)?.[0]} ${height}Z`,
    )
    .join('')
}

/** @param {number} value */
function niceCeiling(value) {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= value) ?? 10
  return step * power
}

/**
 * All charts of a console in a grid.
 *
 * @param {Chart[]} charts
 */
export function createCharts(charts) {
  let offset = 0
  const views = charts.map((chart) => {
    const view = new ChartView(chart, offset)
    offset += chart.series.length
    return view
  })
  const element = el('div', { class: 'charts' })
  fill(
    element,
    views.map((view) => view.element),
  )
  return {
    element,
    /** @param {readonly TimedPoint[]} points */
    draw: (points) => {
      for (const view of views) view.draw(points)
    },
  }
}
