import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { PlatnetError } from '../model/errors.ts'
import {
  type ProgramResult,
  type RunningProgram,
  type RunOptions,
  runProgram,
  type StartOptions,
  startProgram,
} from './exec.ts'

/** A name of a namespace or network interface that the kernel or iproute2 cannot hold. */
export class NetworkNameError extends PlatnetError<'invalid-name'> {}

const commandTimeoutMs = 10_000
const nsfsMagic = 0x6e736673

/** Creates a namespace under /run/netns with its loopback up. Throws ExecError if the name is taken. */
export async function createNetns(name: string, run: typeof runProgram = runProgram): Promise<void> {
  checkNetnsName(name)
  const lines = [`netns add ${name}`, `netns exec ${name} ip link set lo up`]
  await run('ip', ['-batch', '-'], { input: `${lines.join('\n')}\n`, timeoutMs: commandTimeoutMs })
}

/** Removes the name; the kernel frees the namespace and its links when its last process ends. A missing name is no error. */
export async function deleteNetns(name: string, run: typeof runProgram = runProgram): Promise<void> {
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
export async function listNetns(): Promise<string[]> {
  const { stdout } = await runProgram('ip', ['netns', 'list'], { timeoutMs: commandTimeoutMs })
  return stdout
    .split('\n')
    .map((line) => line.split(' ', 1)[0] ?? '')
    .filter((name) => name !== '')
}

/** Runs a program inside a namespace. */
export async function runInNetns(
  netns: string,
  file: string,
  args: readonly string[],
  options: RunOptions,
): Promise<ProgramResult> {
  checkNetnsName(netns)
  return runProgram('ip', ['netns', 'exec', netns, file, ...args], options)
}

/** Starts a program inside a namespace: `ip netns exec` becomes the program, so the pid is the program's own. */
export async function startInNetns(
  netns: string,
  file: string,
  args: readonly string[],
  options: StartOptions = {},
): Promise<RunningProgram> {
  checkNetnsName(netns)
  return startProgram('ip', ['netns', 'exec', netns, file, ...args], options)
}

/** Matches a file name that needs no quoting and cannot be taken for an option. */
export function checkNetnsName(name: string): void {
  if (/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$/.test(name)) return
  throw new NetworkNameError('invalid-name', `network namespace name ${JSON.stringify(name)} is not usable`, {
    remedy: 'use 1 to 63 letters, digits, "_", "." and "-", not starting with "." or "-"',
  })
}
