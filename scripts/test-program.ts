import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { readBuildInfo } from '../src/observe/index.ts'
import { bundleProgram } from './package/bundle.ts'
import { stageProgram } from './package/stage.ts'

const folder = resolve('.cache/test-program')

/**
 * Lays out the program as the package has it, on this Node: one that starts from few files takes half the time, and tests start it some hundred
 * times. Tests find it by the variable (`test/helpers/program.ts`).
 */
export async function stageTestProgram(checkout = resolve('.')): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  const { version, description, commit = '' } = readBuildInfo(checkout)
  const release = { version, description, commit, commitSeconds: 0, isChanged: false }
  stageProgram({ checkout, release, bundle: await bundleProgram(checkout) }, folder)
  const node = join(folder, 'bin/node')
  mkdirSync(dirname(node), { recursive: true })
  symlinkSync(process.execPath, node)
  const launcher = join(folder, 'scripts/platnet')
  // Of a test that gives it few variables nothing is written outside the checkout.
  const text = readFileSync(launcher, 'utf8').replace('/var/cache/platnet', resolve('.cache/compiled'))
  writeFileSync(launcher, text)
  process.env['PLATNET_TEST_PROGRAM'] = launcher
}
