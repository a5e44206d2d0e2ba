import path from 'node:path'
import { runIsolated } from '../src/demo/isolate.ts'
import type { BenchReport } from './report.ts'

/** One endpoint's change, from the API's answer to the rule in the kernel, beside `iptables-restore` of the same bytes. */
export async function benchEndpointChange(): Promise<BenchReport> {
  const program = path.join(import.meta.dirname, 'endpoint-change.program.ts')
  const { exitCode, stdout } = await runIsolated(program, [], { signal: new AbortController().signal, stdout: 'pipe' })
  if (exitCode !== 0) throw new Error(`the measurement ended with exit code ${exitCode}\n${stdout}`)
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
}
