import { lstatSync } from 'node:fs'
import { readEnvironment } from '../../host/index.ts'

/**
 * Returns the command that runs a program inside a container that a version before 0.2 started. Such a container has the rights of the agent
 * and no launch file, and runs until it ends.
 */
export function enterEarlierRun(pid: number, shimPid: number, command: readonly string[]): [string, ...string[]] {
  const inside = ['--target', String(pid), '--mount', '--uts', '--ipc', '--net', '--pid', '--root', '--wd']
  return ['nsenter', ...inside, ...argumentsInside(readEnvironment(shimPid), command, hasEnv(pid))]
}

/** A root filesystem may contain one program and nothing else, so env(1) may be missing. */
function hasEnv(pid: number): boolean {
  return ['usr/bin/env', 'bin/env'].some((path) => lstatSync(`/proc/${pid}/root/${path}`, { throwIfNoEntry: false }))
}

/**
 * Returns the arguments of `nsenter` that run the command as the user of the container and, if its root filesystem has env(1), with its
 * variables; `shim` is the environment of the container's shim. Throws TypeError for a command name with "=".
 */
export function argumentsInside(
  shim: ReadonlyMap<string, string>,
  command: readonly string[],
  hasEnv: boolean,
): string[] {
  // env(1) would read the name as a variable and succeed without running a program.
  if (command[0]?.includes('=')) throw new TypeError(`the command ${JSON.stringify(command[0])} must not hold "="`)
  const [uid, gid] = (shim.get('PLATNET_USER') ?? '').split(':')
  const become = uid && gid ? [`--setuid=${uid}`, `--setgid=${gid}`] : []
  if (!hasEnv) return [...become, '--', ...command]
  const count = Number(shim.get('PLATNET_ENV_COUNT') ?? 0)
  const env = Array.from({ length: count }, (_, index) => shim.get(`PLATNET_ENV_${index}`) ?? '')
  // Not in the environment of `nsenter`, which is still on the host when its loader and C library read theirs.
  return [...become, '--', 'env', '-i', ...env, ...command]
}
