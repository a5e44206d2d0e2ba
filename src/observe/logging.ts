import { type Logger as Pino, pino, stdTimeFunctions } from 'pino'
import { directivesFor, type FilterProblem, isWithin, type LogFilter, parseFilter, widestLevel } from './filter.ts'
import { type LogFormat, lineFormatter } from './log-format.ts'
import type { LogFields, Logger, LogLevel } from './logger.ts'
import { redactText, toLogValue } from './redact.ts'

export interface LoggingOptions {
  /** Text in the grammar of RUST_LOG. */
  readonly filter: string
  readonly format: LogFormat
  readonly stream: { write(text: string): unknown }
  /** Colours in the `pretty` format. */
  readonly colorize?: boolean
}

/** The logs of one process: hands out loggers and can change what they write while they are in use. */
export interface Logging {
  logger(target: string): Logger
  /** Replaces the filter of every logger, also those handed out before; what is wrong with it is returned and logged. */
  setFilter(text: string): readonly FilterProblem[]
}

export function createLogging(options: LoggingOptions): Logging {
  return new PinoLogging(options)
}

/** The directives of one target, computed once per target and filter. */
interface Gate {
  readonly target: string
  directives: LogFilter
  enabled: Readonly<Record<LogLevel, boolean>>
}

class PinoLogging implements Logging {
  readonly #pino: Pino
  readonly #gates = new Map<string, Gate>()
  #filter: LogFilter = []

  constructor({ filter, format, stream, colorize = false }: LoggingOptions) {
    const formatLine = lineFormatter(format, colorize)
    this.#pino = pino(
      {
        level: 'trace',
        base: null,
        messageKey: 'message',
        timestamp: format === 'journald' ? false : stdTimeFunctions.isoTime,
        formatters: { level: (level) => ({ level }) },
      },
      { write: (line) => stream.write(formatLine(line)) },
    )
    this.setFilter(filter)
  }

  logger(target: string): Logger {
    return new TargetLogger(this, this.#gate(target))
  }

  setFilter(text: string): readonly FilterProblem[] {
    const { filter, problems } = parseFilter(text)
    this.#filter = filter
    for (const gate of this.#gates.values()) Object.assign(gate, this.#rulesOf(gate.target))
    for (const { directive, reason } of problems) {
      this.write('warn', 'platform_observe', `log filter: "${directive}" is ignored: ${reason}`)
    }
    return problems
  }

  write(level: LogLevel, target: string, message: string, fields?: LogFields): void {
    const record = fields === undefined ? { target } : { target, fields: toLogValue(fields) }
    this.#pino[level](record, redactText(message))
  }

  #gate(target: string): Gate {
    const known = this.#gates.get(target)
    if (known !== undefined) return known
    const gate = { target, ...this.#rulesOf(target) }
    this.#gates.set(target, gate)
    return gate
  }

  #rulesOf(target: string): Omit<Gate, 'target'> {
    const directives = directivesFor(this.#filter, target)
    const widest = widestLevel(directives)
    const isOpen = (level: LogLevel) => isWithin(level, widest)
    const enabled = {
      error: isOpen('error'),
      warn: isOpen('warn'),
      info: isOpen('info'),
      debug: isOpen('debug'),
      trace: isOpen('trace'),
    }
    return { directives, enabled }
  }
}

class TargetLogger implements Logger {
  readonly #logging: PinoLogging
  readonly #gate: Gate

  constructor(logging: PinoLogging, gate: Gate) {
    this.#logging = logging
    this.#gate = gate
  }

  error(message: string, fields?: LogFields): void {
    this.#log('error', message, fields)
  }

  warn(message: string, fields?: LogFields): void {
    this.#log('warn', message, fields)
  }

  info(message: string, fields?: LogFields): void {
    this.#log('info', message, fields)
  }

  debug(message: string, fields?: LogFields): void {
    this.#log('debug', message, fields)
  }

  trace(message: string, fields?: LogFields): void {
    this.#log('trace', message, fields)
  }

  /** With a directive on fields this may be true although a record without those fields is then not written. */
  enabled(level: LogLevel): boolean {
    return this.#gate.enabled[level]
  }

  child(name: string): Logger {
    return this.#logging.logger(`${this.#gate.target}::${name.replaceAll('-', '_')}`)
  }

  #log(level: LogLevel, message: string, fields: LogFields | undefined): void {
    if (!this.#gate.enabled[level]) return
    const deciding = this.#gate.directives.find((directive) =>
      directive.fields.every((field) => hasField(fields, field)),
    )
    if (deciding !== undefined && isWithin(level, deciding.level)) {
      this.#logging.write(level, this.#gate.target, message, fields)
    }
  }
}

function hasField(fields: LogFields | undefined, name: string): boolean {
  return fields !== undefined && Object.hasOwn(fields, name)
}
