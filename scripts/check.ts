// The gate of every commit: types, lint, unused code, fast tests. `npm run check`.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

const fastTests = globSync('test/{unit,golden,property,architecture,docs}/**/*.test.ts')

const steps: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ['types', 'tsc', ['-p', '.']],
  ['lint', 'biome', ['check', '--error-on-warnings']],
  ['unused code', 'knip', ['--no-progress']],
  ['fast tests', 'node', ['--test', '--test-reporter=dot', ...fastTests]],
]

for (const [name, command, args] of steps) {
  const startedMs = performance.now()
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  console.log(`${name}: ${status === 0 ? 'ok' : 'failed'}, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
  if (status !== 0) process.exit(1)
}
