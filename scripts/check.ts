// The gate of every commit: types, lint, unused code, fast tests. `npm run check`. Properties, which try hundreds of cases, run with `npm test`.
import { globSync } from 'node:fs'
import { keepCompiledCode, refuseServers, runSideBySide, runSteps, type Step, staticChecks } from './static-checks.ts'

/** Levels that start nothing share a process and its modules, half of their files each; `npm test` runs each file in a process of its own. */
const inOneProcess = ['--test-isolation=none', ...globSync('test/{golden,unit}/**/*.test.ts')]
const eachAlone = ['--test-concurrency=2', ...globSync('test/{architecture,component,docs}/**/*.test.ts')]

function testStep(name: string, args: readonly string[]): Step {
  return [name, 'node', ['--import', refuseServers, '--test', '--test-reporter=dot', ...args]]
}

keepCompiledCode()
runSteps(staticChecks)
await runSideBySide([
  testStep('unit tests, first half', ['--test-shard=1/2', ...inOneProcess]),
  testStep('unit tests, second half', ['--test-shard=2/2', ...inOneProcess]),
])
runSteps([testStep('component tests', eachAlone)])
