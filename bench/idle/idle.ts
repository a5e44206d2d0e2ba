import path from 'node:path'
import { runIsolated } from '../../src/demo/isolate.ts'
import { type BenchReport, type BenchRow, measureAlone } from '../report.ts'

/** The processes of one way to run the program, at rest. */
export interface IdleFigures {
  /** `run`, `apart` for `platnet server` and `platnet agent` by themselves, `nftables` for these with that mode of the proxy. */
  readonly mode: string
  readonly starts: readonly { readonly command: string; readonly ms: number }[]
  /** By the role of the process: `server`, `agent`, `haproxy`. */
  readonly processes: readonly {
    readonly role: string
    readonly residentMiB: number
    readonly ownMiB: number
    /** Two minutes after the start. */
    readonly early: { readonly residentMiB: number; readonly ownMiB: number }
    readonly cpuPercent: number
  }[]
}

const checkout = path.resolve(import.meta.dirname, '../..')

/**
 * `platnet run`, then `platnet server` and `platnet agent`, with all planes and 100 Services, after some minutes without a change:
 * `BENCH_IDLE_SECONDS` (600), `BENCH_IDLE_MODES` (run,apart; nftables), `BENCH_IDLE_SERVICES` (100), `BENCH_IDLE_ENDPOINTS` (4), `BENCH_IDLE_PROGRAM`, the launcher of an unpacked package. `BENCH_IDLE_AT_ONCE=1` measures
 * all modes side by side, each in namespaces of its own, in the time of one.
 */
export async function benchIdle(): Promise<BenchReport> {
  const modes = (process.env['BENCH_IDLE_MODES'] ?? 'run,apart').split(',')
  if (process.env['BENCH_IDLE_AT_ONCE'] === '1') {
    const figures = await Promise.all(modes.map(measure))
    return { name: 'idle', rows: figures.flatMap(rowsOf) }
  }
  const rows: BenchRow[] = []
  for (const mode of modes) rows.push(...rowsOf(await measure(mode)))
  return { name: 'idle', rows }
}

async function measure(mode: string): Promise<IdleFigures> {
  const program = path.join(import.meta.dirname, 'idle.program.ts')
  const launcher = process.env['BENCH_IDLE_PROGRAM'] ?? path.join(checkout, 'scripts/platnet')
  const { exitCode, stdout } = await runIsolated(program, [launcher, mode], {
    signal: AbortSignal.timeout(3_600_000),
    stdout: 'pipe',
  })
  if (exitCode !== 0) throw new Error(`the measurement ended with exit code ${exitCode}\n${stdout}`)
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as IdleFigures
}

function rowsOf({ mode, starts, processes }: IdleFigures): BenchRow[] {
  const sum = (pick: (process: IdleFigures['processes'][number]) => number) =>
    processes.reduce((total, process) => total + pick(process), 0)
  const row = (what: string, unit: string, value: number) => measureAlone(`${mode}, ${what}`, unit, value)
  return [
    ...starts.map(({ command, ms }) => row(`platnet ${command}: start to ready`, 'ms', ms)),
    ...processes.flatMap(({ role, residentMiB, ownMiB, early, cpuPercent }) => [
      row(`${role}: resident memory two minutes after the start`, 'MiB', early.residentMiB),
      row(`${role}: proportional share of it`, 'MiB', early.ownMiB),
      row(`${role}: resident memory`, 'MiB', residentMiB),
      row(`${role}: proportional share of it`, 'MiB', ownMiB),
      row(`${role}: processor time`, '% of a core', cpuPercent),
    ]),
    row(
      'all processes: proportional share of memory',
      'MiB',
      sum(({ ownMiB }) => ownMiB),
    ),
    row(
      'all processes: processor time',
      '% of a core',
      sum(({ cpuPercent }) => cpuPercent),
    ),
  ]
}
