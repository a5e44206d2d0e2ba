export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace'

export type LogFields = Readonly<Record<string, unknown>>

/** Writes records of one target (`platform_traffic_proxy::rules`); fields are structured, the message is a plain sentence. */
export interface Logger {
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
  trace(message: string, fields?: LogFields): void
  /** Whether a record of that level would be written, to spare the work of making it. */
  enabled(level: LogLevel): boolean
  /** The logger of a part below this one: target `parent::name`, with underscores for hyphens as RUST_LOG has them. */
  child(name: string): Logger
}

/** Discards everything; for tests and pure callers. */
export const silentLogger: Logger = {
  error: () => {},
  warn: () => {},
  info: () => {},
  debug: () => {},
  trace: () => {},
  enabled: () => false,
  child: () => silentLogger,
}
