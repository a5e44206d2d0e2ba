import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findFreePort } from '../../helpers/free-port.ts'
import { PlatnetServer } from '../../helpers/platnet-server.ts'
import { checkoutLauncher } from '../../helpers/program.ts'

/** The rooms of the agent and the managers, their options apart, and the libraries that they need. */
const unneeded =
  /\/src\/(node|controllers|demo|client)\/(?!.*(options|controller-names)\.ts$)|\/node_modules\/(undici|axios|dns2)\//

/** Returns the paths of all modules that processes loaded, from the coverage reports that V8 left in a folder. */
function loadedModules(coverage: string): readonly string[] {
  return readdirSync(coverage).flatMap((file) => {
    const report: { result: { url: string }[] } = JSON.parse(readFileSync(join(coverage, file), 'utf8'))
    return report.result.map(({ url }) => url)
  })
}

test('An API server alone loads no plane, no controller and no HTTP client.', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'platnet-loaded-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const coverage = join(folder, 'coverage')
  const variables = { NODE_V8_COVERAGE: coverage }
  const server = new PlatnetServer(
    join(folder, 'data'),
    await findFreePort(),
    variables,
    ['--components=api'],
    checkoutLauncher,
  )
  context.after(() => server.stop('SIGKILL'))
  await server.start()
  assert.equal(await server.stop('SIGTERM'), 0)
  const modules = loadedModules(coverage)
  assert.ok(modules.some((url) => url.endsWith('/src/api/server.ts')))
  assert.deepEqual(
    modules.filter((url) => unneeded.test(url)),
    [],
  )
})
