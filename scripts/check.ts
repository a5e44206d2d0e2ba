// The gate of every commit: types, lint, unused code, fast tests. `npm run check`. Properties, which try hundreds of cases, run with `npm test`.
import { globSync } from 'node:fs'
import { keepCompiledCode, refuseServers, runSteps, type Step, staticChecks } from './static-checks.ts'

/** Levels that start nothing share one process and its modules; `npm test` runs each of their files in a process of its own. */
const inOneProcess = ['--test-isolation=none', ...globSync('test/{golden,unit}/**/*.test.ts')]
const eachAlone = ['--test-concurrency=2', ...globSync('test/{architecture,component,docs}/**/*.test.ts')]

function testStep(name: string, args: readonly string[]): Step {
  return [name, 'node', ['--import', refuseServers, '--test', '--test-reporter=dot', ...args]]
}

keepCompiledCode()
runSteps([...staticChecks, testStep('unit tests', inOneProcess), testStep('component tests', eachAlone)])
