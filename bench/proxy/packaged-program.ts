import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { bundleProgram } from '../../scripts/package/bundle.ts'
import { stageProgram } from '../../scripts/package/stage.ts'
import { readBuildInfo } from '../../src/observe/index.ts'

const checkout = path.resolve(import.meta.dirname, '../..')
const folder = path.join(checkout, '.cache/bench-package')
const launcher = path.join(folder, 'scripts/platnet')

/** What starts the agents: the program as the package installs it, or with `BENCH_PROXY_PROGRAM=checkout` one file a module. */
export function agentProgram(): readonly string[] {
  if (process.env['BENCH_PROXY_PROGRAM'] === 'checkout') return [path.join(checkout, 'scripts/platnet')]
  if (!existsSync(launcher)) throw new Error(`${launcher} is missing: the bench stages it first`)
  return ['env', `NODE_COMPILE_CACHE=${path.join(folder, 'compiled')}`, launcher]
}

/** Lays out the program of this checkout as the package has it. */
export async function stageForBench(): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  const { version, description, commit = '0' } = readBuildInfo(checkout)
  const release = { version, description, commit, commitSeconds: 0, isChanged: true }
  stageProgram({ checkout, release, bundle: await bundleProgram(checkout) }, folder)
  mkdirSync(path.join(folder, 'bin'))
  symlinkSync(process.execPath, path.join(folder, 'bin/node'))
}
