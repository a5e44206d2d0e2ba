import path from 'node:path'
import { runIsolated } from '../../src/demo/isolate.ts'
import type { BenchReport } from '../report.ts'

/** What it takes with the defaults is half of that. */
const longestMs = 600_000

/** The agent's DNS beside CoreDNS (where it was built), unbound and dnsmasq, under the same load by dnsperf. */
export async function benchDns(): Promise<BenchReport> {
  const { exitCode, stdout } = await runIsolated(path.join(import.meta.dirname, 'dns.program.ts'), [], {
    signal: AbortSignal.timeout(longestMs),
    stdout: 'pipe',
  })
  if (exitCode !== 0) throw new Error(`the measurement ended with exit code ${exitCode}\n${stdout}`)
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
}
