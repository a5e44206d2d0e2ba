import path from 'node:path'
import { runIsolated } from '../../src/demo/isolate.ts'
import { requirePrograms } from '../needs.ts'
import type { BenchReport } from '../report.ts'

/** Ingress on a node: the drivers beside haproxy and nginx configured by hand, changes until a request follows, and many Ingresses. */
export async function benchIngress(): Promise<BenchReport> {
  requirePrograms('ip', 'nginx', 'openssl', 'haproxy')
  const program = path.join(import.meta.dirname, 'ingress.program.ts')
  const { exitCode, stdout } = await runIsolated(program, [], { signal: new AbortController().signal, stdout: 'pipe' })
  if (exitCode !== 0) throw new Error(`the measurement ended with exit code ${exitCode}\n${stdout}`)
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
}
