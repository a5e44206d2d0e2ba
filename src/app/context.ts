import type { LoadedOptions } from '../config/index.ts'
import {
  buildMetric,
  chooseFormat,
  createLogging,
  createMetrics,
  type Logging,
  type Metrics,
  readBuildInfo,
  silentTracer,
  type Tracer,
} from '../observe/index.ts'
import { LiveOptions } from './live-options.ts'
import type { optionGroups } from './option-groups.ts'

export type Options = LoadedOptions<typeof optionGroups>

/** Holds what every part of one running command shares. */
export interface AppContext {
  /** The options at the start of the command. */
  readonly options: Options
  /** The options in force now. */
  readonly live: LiveOptions
  /** Reads file, environment and flags again. Throws ConfigError. */
  readonly readOptions: () => Promise<Options>
  readonly logging: Logging
  readonly metrics: Metrics
  /** Silent until `composeTracing`. */
  readonly tracer: Tracer
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The stream that receives the log; standard output by default. */
export type LogStream = Parameters<typeof chooseFormat>[1] & {
  write(text: string): unknown
  hasColors?(): boolean
}

/** Reads the options and creates logging and metrics from them; starts nothing. Throws ConfigError. */
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
  const metrics = createMetrics()
  addBuildInfo(metrics)
  const live = new LiveOptions(options)
  live.onChange(() => logging.setFilter(live.values.observe.logLevel))
  return { options, live, readOptions, logging, metrics, tracer: silentTracer, env }
}

function addBuildInfo(metrics: Metrics): void {
  const { version, commit = '' } = readBuildInfo()
  const labels = { version, revision: commit, nodeversion: process.version }
  metrics.gauge(buildMetric).set(1, labels)
}
