import type { LoadedOptions } from '../config/index.ts'
import { chooseFormat, createLogging, createMetrics, type Logging, type Metrics } from '../observe/index.ts'
import type { optionGroups } from './option-groups.ts'

export type Options = LoadedOptions<typeof optionGroups>

/** What every part of one running command shares. */
export interface AppContext {
  /** As they were at the start. */
  readonly options: Options
  /** Reads file, environment and flags once more. Throws ConfigError. */
  readonly readOptions: () => Promise<Options>
  readonly logging: Logging
  readonly metrics: Metrics
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Where the log goes, standard output as a rule. */
export type LogStream = Parameters<typeof chooseFormat>[1] & {
  write(text: string): unknown
  hasColors?(): boolean
}

/** Reads the options for the first time and makes what follows from them; nothing is started yet. Throws ConfigError. */
export async function createContext(
  readOptions: () => Promise<Options>,
  env: AppContext['env'],
  output: LogStream,
): Promise<AppContext> {
  const options = await readOptions()
  const { logLevel, logFormat } = options.values.observe
  const format = chooseFormat(logFormat, output, env)
  const colorize = output.hasColors?.() ?? false
  const logging = createLogging({ filter: logLevel, format, stream: output, colorize })
  return { options, readOptions, logging, metrics: createMetrics(), env }
}
