// The gate of every commit: types, lint, unused code, fast tests. `npm run check`. Properties, which try hundreds of cases, run with `npm test`.
import { globSync } from 'node:fs'
import { refuseServers, runSteps, staticChecks } from './static-checks.ts'

const fastTests = globSync('test/{unit,component,golden,architecture,docs}/**/*.test.ts')

runSteps([
  ...staticChecks,
  ['fast tests', 'node', ['--import', refuseServers, '--test', '--test-reporter=dot', ...fastTests]],
])
