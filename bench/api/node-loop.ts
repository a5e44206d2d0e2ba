import path from 'node:path'
import { runIsolated } from '../../src/demo/isolate.ts'

/** 99th percentiles of how late main loops were under `platnet run`, and how long the agent took from its death to rules for all Services. */
export interface NodeLoopFigures {
  readonly agentMs: number
  readonly serverMs: number
  readonly relistMs: number
  readonly writesPerSecond: number
}

/** Needs root, and iptables: the agent writes real rules in namespaces of its own. */
export async function measureNodeLoops(): Promise<NodeLoopFigures> {
  const program = path.join(import.meta.dirname, 'node-loop.program.ts')
  const { exitCode, stdout } = await runIsolated(program, [], { signal: AbortSignal.timeout(180_000), stdout: 'pipe' })
  if (exitCode !== 0) throw new Error(`the measurement ended with exit code ${exitCode}\n${stdout}`)
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
}
