import { lstatSync } from 'node:fs'
import { readEnvironment } from '../../host/index.ts'

/**
 * The program and its arguments that run another one beside a container which a version before 0.2 started. Such a container has the
 * rights of the agent and no launch file; it goes on until it ends by itself.
 */
export function enterEarlierRun(pid: number, shimPid: number, command: readonly string[]): [string, ...string[]] {
  const inside = ['--target', String(pid), '--mount', '--uts', '--ipc', '--net', '--pid', '--root', '--wd']
  return ['nsenter', ...inside, ...besideWords(readEnvironment(shimPid), command, hasEnv(pid))]
}

/** A root filesystem of a container's own may hold one program and nothing else. */
function hasEnv(pid: number): boolean {
  return ['usr/bin/env', 'bin/env'].some((path) => lstatSync(`/proc/${pid}/root/${path}`, { throwIfNoEntry: false }))
}

/**
 * The words after `nsenter` that run a program beside the one whose shim has this environment: as its user and, where its root filesystem has
 * env(1), with its variables.
 */
export function besideWords(shim: ReadonlyMap<string, string>, command: readonly string[], hasEnv: boolean): string[] {
  // env(1) would take such a word for a variable, and succeed without a program.
  if (command[0]?.includes('=')) throw new TypeError(`the command ${JSON.stringify(command[0])} must not hold "="`)
  const [uid, gid] = (shim.get('PLATNET_USER') ?? '').split(':')
  const become = uid && gid ? [`--setuid=${uid}`, `--setgid=${gid}`] : []
  if (!hasEnv) return [...become, '--', ...command]
  const count = Number(shim.get('PLATNET_ENV_COUNT') ?? 0)
  const env = Array.from({ length: count }, (_, index) => shim.get(`PLATNET_ENV_${index}`) ?? '')
  // Not as variables of `nsenter`: that is still outside when the loader and the C library look at theirs.
  return [...become, '--', 'env', '-i', ...env, ...command]
}
