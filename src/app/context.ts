import type { LoadedOptions } from '../config/index.ts'
import { chooseFormat, createLogging, createMetrics, type Logging, type Metrics } from '../observe/index.ts'
import type { optionGroups } from './option-groups.ts'

export type Options = LoadedOptions<typeof optionGroups>

/** What every part of one running command shares. */
export interface AppContext {
  readonly options: Options
  readonly logging: Logging
  readonly metrics: Metrics
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Where the log goes, standard output as a rule. */
export type LogStream = Parameters<typeof chooseFormat>[1] & {
  write(text: string): unknown
  hasColors?(): boolean
}

/** Nothing is started yet. */
export function createContext(options: Options, env: AppContext['env'], output: LogStream): AppContext {
  const { logLevel, logFormat } = options.values.observe
  const format = chooseFormat(logFormat, output, env)
  const colorize = output.hasColors?.() ?? false
  return {
    options,
    logging: createLogging({ filter: logLevel, format, stream: output, colorize }),
    metrics: createMetrics(),
    env,
  }
}
