import { existsSync } from 'node:fs'
import path from 'node:path'
import { runIsolated } from '../../src/demo/isolate.ts'
import { requirePrograms } from '../needs.ts'
import type { BenchReport } from '../report.ts'

/** Sandboxes as the agent makes them, beside the same plugins called bare and beside cnitool. */
export async function benchPods(): Promise<BenchReport> {
  requirePrograms('ip', '/usr/lib/cni/bridge')
  const program = path.join(import.meta.dirname, 'pods.program.ts')
  const cnitool = path.resolve(import.meta.dirname, '../../.cache/peer/cnitool')
  const { exitCode, stdout } = await runIsolated(program, existsSync(cnitool) ? [cnitool] : [], {
    signal: new AbortController().signal,
    stdout: 'pipe',
  })
  if (exitCode !== 0) throw new Error(`the measurement ended with exit code ${exitCode}\n${stdout}`)
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
}
