import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { checkNetnsName } from './netns-name.ts'
import { type Run, runProgram } from './programs/index.ts'

const commandTimeoutMs = 10_000
const nsfsMagic = 0x6e736673

/** Creates a namespace under /run/netns with its loopback up. Throws ExecError if the name is taken. */
export async function createNetns(name: string, run: Run = runProgram): Promise<void> {
  checkNetnsName(name)
  const lines = [`netns add ${name}`, `netns exec ${name} ip link set lo up`]
  await run('ip', ['-batch', '-'], { input: `${lines.join('\n')}\n`, timeoutMs: commandTimeoutMs })
}

/** Removes the name; the kernel frees the namespace and its links when its last process ends. A missing name is no error. */
export async function deleteNetns(name: string, run: Run = runProgram): Promise<void> {
  checkNetnsName(name)
  if (!existsSync(`/run/netns/${name}`)) return
  await run('ip', ['netns', 'delete', name], { timeoutMs: commandTimeoutMs })
}

/** Tells whether the path is a namespace. False for the empty file that remains without its mount, for example after the maker was killed. */
export async function isNamespace(path: string): Promise<boolean> {
  if (path === '') return false
  const found = await statfs(path).catch(() => undefined)
  return found?.type === nsfsMagic
}

/** Lists the names under /run/netns. */
export async function listNetns(run: Run = runProgram): Promise<string[]> {
  const { stdout } = await run('ip', ['netns', 'list'], { timeoutMs: commandTimeoutMs })
  return stdout
    .split('\n')
    .map((line) => line.split(' ', 1)[0] ?? '')
    .filter((name) => name !== '')
}
