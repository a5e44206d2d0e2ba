import path from 'node:path'
import { runIsolated } from '../../src/demo/isolate.ts'
import { type BenchReport, measureAlone } from '../report.ts'

/** The processes of one command at rest. */
export interface IdleFigures {
  readonly command: string
  readonly startMs: number
  /** By the role of the process: `server`, `agent`, `haproxy`. */
  readonly processes: readonly {
    readonly role: string
    readonly residentMiB: number
    readonly ownMiB: number
    readonly cpuPercent: number
  }[]
}

/** `platnet run`, and its two halves, with all planes and 100 Services, after some minutes without a change (`BENCH_IDLE_SECONDS`, 600). */
export async function benchIdle(): Promise<BenchReport> {
  const program = path.join(import.meta.dirname, 'idle.program.ts')
  const { exitCode, stdout } = await runIsolated(program, [], {
    signal: AbortSignal.timeout(3_600_000),
    stdout: 'pipe',
  })
  if (exitCode !== 0) throw new Error(`the measurement ended with exit code ${exitCode}\n${stdout}`)
  const figures = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as IdleFigures
  return { name: 'idle', rows: rowsOf(figures) }
}

function rowsOf({ startMs, processes }: IdleFigures) {
  const sum = (pick: (process: IdleFigures['processes'][number]) => number) =>
    processes.reduce((total, process) => total + pick(process), 0)
  return [
    measureAlone('platnet run: start to ready', 'ms', startMs),
    ...processes.flatMap(({ role, residentMiB, ownMiB, cpuPercent }) => [
      measureAlone(`${role}: resident memory`, 'MiB', residentMiB),
      measureAlone(`${role}: proportional share of it`, 'MiB', ownMiB),
      measureAlone(`${role}: processor time`, '% of a core', cpuPercent),
    ]),
    measureAlone(
      'platnet run, all processes: proportional share of memory',
      'MiB',
      sum(({ ownMiB }) => ownMiB),
    ),
    measureAlone(
      'platnet run, all processes: processor time',
      '% of a core',
      sum(({ cpuPercent }) => cpuPercent),
    ),
  ]
}
