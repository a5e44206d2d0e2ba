// The gate of every commit: types, lint, unused code, fast tests. `npm run check`. Properties, which try hundreds of cases, run with `npm test`.
import { globSync } from 'node:fs'
import { keepCompiledCode, refuseServers, runSideBySide, runSteps, type Step, staticChecks } from './static-checks.ts'
import { groupFiles } from './test-groups.ts'

const files = globSync('test/{architecture,component,docs,golden,unit}/**/*.test.ts').sort()

function testStep(name: string, paths: readonly string[]): Step {
  return [name, 'node', ['--import', refuseServers, '--test', '--test-reporter=dot', '--test-concurrency=2', ...paths]]
}

keepCompiledCode()
const processes = groupFiles(files).map(({ path }) => path)
await runSideBySide(staticChecks)
runSteps([testStep('fast tests', processes)])
