import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'

/** The module that keeps servers, threads and processes out of test/unit; for `node --import`. */
export const refuseServers = new URL('../test/helpers/refuse-servers.ts', import.meta.url).href

export type Step = readonly [name: string, command: string, args: readonly string[]]

/** What is checked without running any of our code. */
export const staticChecks: readonly Step[] = [
  ['types', 'tsc', ['-p', '.', '--incremental', '--tsBuildInfoFile', '.cache/types.tsbuildinfo']],
  ['types of the console', 'tsc', ['-p', 'src/console/page']],
  ['lint', 'biome', ['check', '--error-on-warnings']],
  ['unused code', 'knip', ['--no-progress']],
]

/** Runs the steps in order with their output shown and ends the process at the first that fails. */
export function runSteps(steps: readonly Step[]): void {
  for (const [name, command, args] of steps) {
    const startedMs = performance.now()
    const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
    if (!report(name, status, startedMs)) process.exit(1)
  }
}

/** Runs the steps at once, the output of each shown when it ends, and ends the process when all have ended and one failed. */
export async function runSideBySide(steps: readonly Step[]): Promise<void> {
  const results = await Promise.all(
    steps.map(async ([name, command, args]) => {
      const startedMs = performance.now()
      const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      const [output, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
      process.stdout.write(output)
      return report(name, status, startedMs)
    }),
  )
  if (!results.every(Boolean)) process.exit(1)
}

function report(name: string, status: number | null, startedMs: number): boolean {
  console.log(`${name}: ${status === 0 ? 'ok' : 'failed'}, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
  return status === 0
}

/**
 * Has Node keep the compiled code of modules for the processes that this one starts, as `scripts/platnet` does: each test file is a process that reads
 * the same modules.
 */
export function keepCompiledCode(): void {
  process.env['NODE_COMPILE_CACHE'] ??= resolve('.cache/compiled')
}
