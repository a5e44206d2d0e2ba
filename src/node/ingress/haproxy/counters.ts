import type { ObjectKey } from '../../../model/api-object.ts'
import type { HostClass } from './map-entries.ts'
import { countersTable } from './rules.ts'
import { countedCodes } from './status-codes.ts'

/** Answers of one kind since haproxy started. */
export interface AnswerCount {
  /** Absent where no Ingress has a route. */
  readonly ingress?: ObjectKey
  readonly host: HostClass | 'none'
  /** A status code, or a class such as `4xx` for those that are not counted one by one. */
  readonly code: string
  readonly count: number
}

export const showCounters = `show table ${countersTable}`

/** Reads the table of counters: lines with `key=CLASS|INGRESS` and a number for each code. */
export function readCounters(text: string): readonly AnswerCount[] {
  return text.split('\n').flatMap((line) => {
    const [, host, ingress] = / key=(exact|wildcard|any|none)\|(\S*) /.exec(line) ?? []
    if (host === undefined || ingress === undefined) return []
    const counts = Array.from(line.matchAll(/ gpc(\d+)=(\d+)/g), ([, index, count]) => ({
      code: countedCodes[Number(index)] ?? '',
      count: Number(count),
    }))
    const base = { host: host as AnswerCount['host'], ...(ingress !== '' && { ingress }) }
    return counts.filter(({ count, code }) => count > 0 && code !== '').map((each) => ({ ...base, ...each }))
  })
}

/** Adds up the counters of workers that follow each other: a reload starts a worker whose counters are 0. */
export class AnswerTotals {
  readonly #ended = new Map<string, AnswerCount>()
  readonly #workers = new Map<number, readonly AnswerCount[]>()

  /** Sets the counters of a worker as they were read last. */
  set(pid: number, counts: readonly AnswerCount[]): void {
    this.#workers.set(pid, counts)
  }

  /** Keeps the last counters of workers that are gone. */
  keepOnly(pids: ReadonlySet<number>): void {
    for (const [pid, counts] of this.#workers) {
      if (pids.has(pid)) continue
      for (const each of counts) add(this.#ended, each)
      this.#workers.delete(pid)
    }
  }

  totals(): readonly AnswerCount[] {
    const sums = new Map(this.#ended)
    for (const counts of this.#workers.values()) for (const each of counts) add(sums, each)
    return [...sums.values()]
  }
}

function add(sums: Map<string, AnswerCount>, each: AnswerCount): void {
  const key = `${each.host} ${each.ingress ?? ''} ${each.code}`
  sums.set(key, { ...each, count: each.count + (sums.get(key)?.count ?? 0) })
}
