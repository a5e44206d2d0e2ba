import type { ObjectKey } from '../../model/api-object.ts'

/** A Service whose rules the kernel has not got yet. */
export interface WaitingWrite {
  readonly service: ObjectKey
  /** The lines of a restore that are left to write. */
  readonly lines: number
  /** Milliseconds since 1970. */
  readonly sinceMs: number
}

/** One write: Services that fit in it whole, and one of which a part goes. */
export interface NextWrite<T> {
  readonly whole: readonly T[]
  readonly part: T | undefined
  /** About how many lines of the part go. */
  readonly partLines: number
}

/** The precedence that a waiting Service gains over later ones: about a tenth of what the kernel takes in that time. */
const linesGainedPerMs = 2

/**
 * Which Services go first. Each counts what is written of its namespace until it is done, small ones first, so that namespaces take turns, and neither one
 * large Service nor many small ones of one namespace are in the way of another's; what has waited counts less.
 */
export function fairOrder<T extends WaitingWrite>(waiting: Iterable<T>, nowMs: number): readonly T[] {
  const gainOf = ({ sinceMs }: T) => (nowMs - sinceMs) * linesGainedPerMs
  const scored: { readonly write: T; readonly score: number }[] = []
  for (const writes of Map.groupBy(waiting, namespaceOf).values()) {
    let lines = 0
    for (const write of writes.toSorted((a, b) => a.lines - gainOf(a) - (b.lines - gainOf(b)))) {
      lines += write.lines
      scored.push({ write, score: lines - gainOf(write) })
    }
  }
  return scored.sort((a, b) => a.score - b.score).map(({ write }) => write)
}

/** Takes as many Services as fit in a write of `maxLines`, in their order; of one that fits in no write it takes a part. */
export function chooseNext<T extends WaitingWrite>(ordered: readonly T[], maxLines: number): NextWrite<T> {
  const whole: T[] = []
  let left = maxLines
  for (const write of ordered) {
    if (write.lines > left) {
      const isPart = write.lines > maxLines && left >= maxLines / 4
      return { whole, part: isPart ? write : undefined, partLines: left }
    }
    whole.push(write)
    left -= write.lines
  }
  return { whole, part: undefined, partLines: left }
}

function namespaceOf({ service }: WaitingWrite): string {
  return service.slice(0, service.indexOf('/'))
}
