import path from 'node:path'
import { runIsolated } from '../../src/demo/isolate.ts'
import { requirePrograms } from '../needs.ts'
import type { BenchReport } from '../report.ts'
import { stageForBench } from './packaged-program.ts'

/** The traffic proxy beside kube-proxy, over the grid of `BENCH_PROXY_GRID` (such as `1000x4,30000x1`). */
export async function benchProxy(): Promise<BenchReport> {
  requirePrograms('ip', 'iptables', 'nft', 'perl')
  await stageForBench()
  const program = path.join(import.meta.dirname, 'proxy.program.ts')
  const { exitCode, stdout } = await runIsolated(program, [], { signal: new AbortController().signal, stdout: 'pipe' })
  if (exitCode !== 0) throw new Error(`the measurement ended with exit code ${exitCode}\n${stdout}`)
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
}
