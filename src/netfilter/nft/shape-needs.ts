import { maxEndpoints, parseClassid } from './address-data.ts'
import { balanceSets, timeoutOf } from './set-specs.ts'

/** The packed line of an address or node port, with its data. */
const countLine = new RegExp(
  `^(?:${Object.values(balanceSets)
    .map(({ counts }) => counts)
    .join('|')})\\t[^\\t\\n]*\\t(.*)$`,
  'gm',
)
/** The packed line of an element of `stickySet`, with the name of the set. */
const stickyLine = /^((?:port-)?sticky-\d+)\t/gm

/** Finds in elements how many endpoints the rules must draw from, and the timeouts of affinity. */
export class ShapeNeeds {
  /** The largest number of endpoints. */
  drawn = 0
  /** Seconds. */
  readonly timeouts = new Set<number>()

  /** Takes packed lines, which are not unpacked: there may be those of all Services. */
  measure(lines: string): void {
    for (const [, data = ''] of lines.matchAll(countLine))
      this.drawn = Math.max(this.drawn, parseClassid(data) & maxEndpoints)
    if (!lines.includes('sticky-')) return
    for (const [, set = ''] of lines.matchAll(stickyLine)) this.timeouts.add(timeoutOf(set) ?? 0)
  }
}
