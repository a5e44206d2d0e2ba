// The gate of every commit: types, lint, unused code, fast tests. `npm run check`. Properties, which try hundreds of cases, run with `npm test`.
import { globSync } from 'node:fs'
import { keepCompiledCode, refuseServers, runSideBySide, runSteps, staticChecks } from './static-checks.ts'
import { groupFiles } from './test-groups.ts'

const files = globSync('test/{architecture,component,docs,golden,unit}/**/*.test.ts').sort()

keepCompiledCode()
const paths = groupFiles(files).map(({ path }) => path)
const flags = ['--import', refuseServers, '--test', '--test-reporter=dot', '--test-concurrency=2']
await runSideBySide(staticChecks)
runSteps([['fast tests', 'node', [...flags, ...paths]]])
