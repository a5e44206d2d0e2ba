import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'

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
    console.log(`${name}: ${status === 0 ? 'ok' : 'failed'}, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
    if (status !== 0) process.exit(1)
  }
}

/**
 * Has Node keep the compiled code of modules for the processes that this one starts, as `scripts/platnet` does: each test file is a process that reads
 * the same modules.
 */
export function keepCompiledCode(): void {
  process.env['NODE_COMPILE_CACHE'] ??= resolve('.cache/compiled')
}
