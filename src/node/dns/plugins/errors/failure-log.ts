import { RE2JS } from 're2js'
import { describeError } from '../../../../model/errors.ts'
import type { ThreadNote } from '../../threads/messages.ts'
import { typeName } from '../../wire/codes.ts'
import { nameText } from '../../wire/name.ts'
import type { Query } from '../../wire/query.ts'
import type { ConsolidateRule, ErrorsSettings } from './settings.ts'

const maxLinesPerSecond = 10
const noteLevels = { warning: 'warn', error: 'error', info: 'info', debug: 'debug' } as const

/** Failures that one rule gathers; `count` is of the period that runs. */
interface Gathered {
  readonly rule: ConsolidateRule
  readonly pattern: RE2JS
  count: number
  timer: NodeJS.Timeout | undefined
}

/**
 * What `errors` tells of one server block: each failure in a line of its own, as many a second as somebody can read (the metrics
 * count them all), and those that a `consolidate` takes in one line at the end of its period.
 */
export class FailureLog {
  readonly #tell: (note: ThreadNote) => void
  readonly #gathered: readonly Gathered[]
  readonly #isWanted: boolean
  #lines = { second: 0, count: 0 }

  constructor(settings: ErrorsSettings | undefined, tell: (note: ThreadNote) => void) {
    this.#tell = tell
    this.#isWanted = settings !== undefined
    this.#gathered = (settings?.consolidate ?? []).map((rule) => ({
      rule,
      pattern: RE2JS.compile(rule.pattern),
      count: 0,
      timer: undefined,
    }))
  }

  /** A question was answered with SERVFAIL because of that error. The first rule that matches its text takes it. */
  failed(query: Query, error: unknown): void {
    if (!this.#isWanted) return
    const text = describeError(error)
    const gathered = this.#gathered.find(({ pattern }) => pattern.matcher(text).find())
    if (gathered === undefined) {
      this.#tellOne(query, text, 'warn')
      return
    }
    gathered.count += 1
    if (gathered.count === 1 && gathered.rule.showFirst) this.#tellOne(query, text, noteLevels[gathered.rule.level])
    gathered.timer ??= setTimeout(() => this.#sumUp(gathered), gathered.rule.periodMs).unref()
  }

  /** What was gathered is told now. */
  close(): void {
    for (const gathered of this.#gathered) if (gathered.timer !== undefined) this.#sumUp(gathered)
  }

  #sumUp(gathered: Gathered): void {
    const { rule, count } = gathered
    clearTimeout(gathered.timer)
    gathered.timer = undefined
    gathered.count = 0
    // The first one had its line.
    if (rule.showFirst && count === 1) return
    const fields = { count, like: rule.pattern, withinSeconds: rule.periodMs / 1000 }
    this.#tell({ level: noteLevels[rule.level], message: 'questions were answered with SERVFAIL', fields })
  }

  #tellOne(query: Query, error: string, level: ThreadNote['level']): void {
    const second = Math.floor(performance.now() / 1000)
    this.#lines = { second, count: second === this.#lines.second ? this.#lines.count + 1 : 1 }
    if (this.#lines.count > maxLinesPerSecond) return
    const fields = { name: nameText(query.name), type: typeName(query.type), error }
    this.#tell({ level, message: 'a question was answered with SERVFAIL', fields })
  }
}
