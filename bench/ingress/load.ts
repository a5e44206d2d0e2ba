import { runProgram } from '../../src/host/index.ts'
import { rules, writeFile } from './scene.ts'

const connections = 32

export interface LoadResult {
  readonly cpuMicroseconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly perSecond: number
  /** Answers that are no success, and broken connections. */
  readonly failures: number
}

/** Asks for all rules in turn on kept connections for some seconds. `cpuSeconds` says what the proxy has used so far. */
export async function measureLoad(url: string, seconds: number, cpuSeconds: () => number): Promise<LoadResult> {
  const script = writeFile('wrk.lua', wrkScript())
  await wrk(url, 1, script)
  const before = cpuSeconds()
  const result = await wrk(url, seconds, script)
  return { ...result, cpuMicroseconds: ((cpuSeconds() - before) / result.requests) * 1e6 }
}

async function wrk(url: string, seconds: number, script: string) {
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, url]
  const { stdout } = await runProgram('wrk', args, { timeoutMs: (seconds + 30) * 1000 })
  const [requests = 0, p50 = 0, p99 = 0, failures = 0, durationUs = 0] = (/^RESULT (.*)$/m.exec(stdout)?.[1] ?? '')
    .split(' ')
    .map(Number)
  if (requests === 0) throw new Error(`no answer from ${url}: ${stdout}`)
  return { requests, p50Ms: p50 / 1000, p99Ms: p99 / 1000, failures, perSecond: requests / (durationUs / 1e6) }
}

function wrkScript(): string {
  const lines = rules.map(({ host, path }) => `wrk.format("GET", "${path}/page", {["Host"]="${host}"})`)
  return `local requests
local at = 0
function init() requests = { ${lines.join(',\n')} } end
function request() at = at % #requests + 1; return requests[at] end
function done(summary, latency)
  local errors = summary.errors
  local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print(string.format("RESULT %d %d %d %d %d", summary.requests, latency:percentile(50), latency:percentile(99), failures, summary.duration))
end
`
}
