import { copyFileSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { runProgram } from '../../src/host/index.ts'
import { readRun } from '../../src/node/pods/container-files.ts'
import type { Launch } from '../../src/node/pods/container-launch.ts'
import { launchOf, planOf, startShim } from './launch-plans.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'
import { until } from './until.ts'

const deadlineMs = 30_000
export const env = [['PATH', '/usr/sbin:/usr/bin:/sbin:/bin']] as const

interface Seen {
  readonly exitCode: number | undefined
  readonly log: string
}

/** Runs a container to its end. */
export async function runContainer(
  context: TestContext,
  launch: Launch,
  changed: Parameters<typeof planOf>[1] = {},
  folder = makeTemporaryFolder(context),
): Promise<Seen> {
  await startShim(folder, planOf(launch, changed))
  await until('the container has ended', () => readRun(folder, Date.now()).kind === 'exited', deadlineMs)
  const end = readRun(folder, Date.now())
  return { exitCode: end.kind === 'exited' ? end.exitCode : undefined, log: containerLog(folder) }
}

/** What a container has written so far; empty before it starts. */
export function containerLog(folder: string): string {
  const pieces = globSync(join(folder, 'log', '*')).toSorted()
  return pieces.map((piece) => readFileSync(piece, 'utf8')).join('')
}

export function shell(script: string, changed: Partial<Launch> = {}): Launch {
  return launchOf(['/bin/sh', '-c', script], { env, ...changed })
}

/** A root filesystem with a shell and what that needs, nothing else. */
export async function makeRoot(context: TestContext): Promise<string> {
  const root = join(makeTemporaryFolder(context), 'root')
  mkdirSync(join(root, 'bin'), { recursive: true })
  const { stdout } = await runProgram('ldd', ['/bin/sh'], { timeoutMs: 10_000 })
  for (const [library = ''] of stdout.matchAll(/\/\S+/g)) {
    mkdirSync(join(root, dirname(library)), { recursive: true })
    copyFileSync(library, join(root, library))
  }
  copyFileSync('/bin/sh', join(root, 'bin/sh'))
  return root
}
