// The gate of every commit: types, lint, unused code, fast tests. `npm run check`.
import { globSync } from 'node:fs'
import { runSteps, staticChecks } from './static-checks.ts'

const fastTests = globSync('test/{unit,golden,property,architecture,docs}/**/*.test.ts')

runSteps([...staticChecks, ['fast tests', 'node', ['--test', '--test-reporter=dot', ...fastTests]]])
