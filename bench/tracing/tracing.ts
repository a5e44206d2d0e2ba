import path from 'node:path'
import { runProgram } from '../../src/host/index.ts'
import { type BenchReport, compare } from '../report.ts'

/** One quantity without tracing, at 1 % and at all traces. */
export interface TracingFigure {
  readonly metric: string
  readonly unit: string
  readonly byShare: readonly number[]
}

/** The cost of tracing, beside a process without it in the same run. */
export async function benchTracing(): Promise<BenchReport> {
  const program = path.join(import.meta.dirname, 'cost.program.ts')
  const { stdout } = await runProgram(process.execPath, [program], { timeoutMs: 1_800_000, cwd: import.meta.dirname })
  const figures = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as readonly TracingFigure[]
  const rows = figures.flatMap(({ metric, unit, byShare: [off = Number.NaN, some = Number.NaN, all = Number.NaN] }) => [
    compare(`${metric}, 1 % of the traces`, unit, some, 'off', off),
    compare(`${metric}, all traces`, unit, all, 'off', off),
  ])
  return { name: 'tracing', rows }
}
