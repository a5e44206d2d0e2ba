import path from 'node:path'
import { runIsolated } from '../../src/demo/isolate.ts'
import { requirePrograms } from '../needs.ts'
import type { BenchReport } from '../report.ts'

/** NetworkPolicy on a node, at the size of `BENCH_POLICY_SIZE` (local pods x policies x remote pods) and in a large cluster. */
export async function benchPolicy(): Promise<BenchReport> {
  requirePrograms('ip', 'iptables', 'ipset', 'perl')
  const program = path.join(import.meta.dirname, 'policy.program.ts')
  const { exitCode, stdout } = await runIsolated(program, [], { signal: new AbortController().signal, stdout: 'pipe' })
  if (exitCode !== 0) throw new Error(`the measurement ended with exit code ${exitCode}\n${stdout}`)
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
}
