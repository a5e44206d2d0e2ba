import { RE2JS } from 're2js'
import { describeError } from '../../../../model/errors.ts'
import type { Logger } from '../../../../observe/index.ts'
import { typeName } from '../../wire/codes.ts'
import { nameText } from '../../wire/name.ts'
import type { Query } from '../../wire/query.ts'
import type { ConsolidateRule, ErrorsSettings } from './settings.ts'

const maxLinesPerSecond = 10
const logLevels = { warning: 'warn', error: 'error', info: 'info', debug: 'debug' } as const

type Level = (typeof logLevels)[keyof typeof logLevels]

export type FailureLogger = Pick<Logger, Level>

/** The failures that one rule consolidates, with their number in the current period. */
interface ConsolidatedFailures {
  readonly rule: ConsolidateRule
  readonly pattern: RE2JS
  count: number
  timer: NodeJS.Timeout | undefined
}

/**
 * Logs the failures of one server block as its `errors` says: each failure on a line of its own, at most ten a second (the metrics count them all), and
 * those that match a `consolidate` on one line at the end of its period.
 */
export class FailureLog {
  readonly #log: FailureLogger
  readonly #consolidated: readonly ConsolidatedFailures[]
  readonly #isEnabled: boolean
  #lines = { second: 0, count: 0 }

  constructor(settings: ErrorsSettings | undefined, log: FailureLogger) {
    this.#log = log
    this.#isEnabled = settings !== undefined
    this.#consolidated = (settings?.consolidate ?? []).map((rule) => ({
      rule,
      pattern: RE2JS.compile(rule.pattern),
      count: 0,
      timer: undefined,
    }))
  }

  /** Logs that a question got SERVFAIL because of this error. The first rule that matches the text of the error consolidates it. */
  logFailure(query: Query, error: unknown): void {
    if (!this.#isEnabled) return
    const text = describeError(error)
    const consolidated = this.#consolidated.find(({ pattern }) => pattern.matcher(text).find())
    if (consolidated === undefined) {
      this.#logOne(query, text, 'warn')
      return
    }
    const { rule } = consolidated
    consolidated.count += 1
    if (consolidated.count === 1 && rule.showFirst) this.#logOne(query, text, logLevels[rule.level])
    consolidated.timer ??= setTimeout(() => this.#logSummary(consolidated), rule.periodMs).unref()
  }

  /** Logs the summaries of the current periods. */
  close(): void {
    for (const consolidated of this.#consolidated) if (consolidated.timer !== undefined) this.#logSummary(consolidated)
  }

  #logSummary(consolidated: ConsolidatedFailures): void {
    const { rule, count } = consolidated
    clearTimeout(consolidated.timer)
    consolidated.timer = undefined
    consolidated.count = 0
    // The first failure already has its line.
    if (rule.showFirst && count === 1) return
    const fields = { count, like: rule.pattern, withinSeconds: rule.periodMs / 1000 }
    this.#log[logLevels[rule.level]]('questions were answered with SERVFAIL', fields)
  }

  #logOne(query: Query, error: string, level: Level): void {
    const second = Math.floor(performance.now() / 1000)
    this.#lines = { second, count: second === this.#lines.second ? this.#lines.count + 1 : 1 }
    if (this.#lines.count > maxLinesPerSecond) return
    const fields = { name: nameText(query.name), type: typeName(query.type), error }
    this.#log[level]('a question was answered with SERVFAIL', fields)
  }
}
