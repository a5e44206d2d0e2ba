import type { Launch } from './container-launch.ts'

/** What a shim is told of a container. The values stay variables from here to the container's first process, and are nowhere read as code. */
export function shimEnvironment({ command, env, workingDir, user }: Launch): Record<string, string> {
  const numbered = (prefix: string, values: readonly string[]) => [
    [`${prefix}_COUNT`, String(values.length)],
    ...values.map((value, index) => [`${prefix}_${index}`, value]),
  ]
  return {
    PLATNET_WORKDIR: workingDir,
    PLATNET_USER: user === undefined ? '' : `${user.uid}:${user.gid}`,
    ...Object.fromEntries([
      ...numbered(
        'PLATNET_ENV',
        env.map(([name, value]) => `${name}=${value}`),
      ),
      ...numbered('PLATNET_ARG', command),
    ]),
  }
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
