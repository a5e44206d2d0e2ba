import { resolve } from 'node:path'
import { type ProgramExit, runProgram } from '../host/index.ts'

/** Set for the isolated program: its pid as the host sees it, for nsenter and /proc. */
export const hostPidVariable = 'PLATNET_ISOLATED_HOST_PID'

/**
 * The first process of the new namespaces. /proc still is the host's when it reads its own pid there; the mounts that
 * follow are private to this namespace, because unshare makes them so.
 */
const prepare = `set -e
read -r ${hostPidVariable} rest </proc/self/stat
export ${hostPidVariable}
mount -t proc proc /proc
mount -t tmpfs -o mode=0755 tmpfs /run
ip link set lo up
mkdir -p /opt/cni
mount -n -t tmpfs tmpfs /opt/cni
exec "$@"`

/**
 * Runs a TypeScript program as root of its own network, mount and process namespaces, with a private and empty /run, and
 * its output shown here. Everything it started ends with it, and it ends with this process or when the signal aborts.
 */
export async function runIsolated(
  programFile: string,
  args: readonly string[],
  options: { readonly signal: AbortSignal; readonly stdout?: 'inherit' | 'pipe' },
): Promise<ProgramExit & { stdout: string }> {
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child']
  const inside = [process.execPath, resolve(programFile), ...args]
  const program = await runProgram(
    'setpriv',
    ['--pdeathsig', 'KILL', 'unshare', ...namespaces, 'sh', '-c', prepare, 'sh', ...inside],
    { background: true, stdout: options.stdout ?? 'inherit', stderr: 'inherit' },
  )
  const stop = (): void => program.kill('SIGKILL')
  options.signal.addEventListener('abort', stop, { once: true })
  if (options.signal.aborted) stop()
  const [exit, stdout] = await Promise.all([program.exited, readText(program.stdout)])
  options.signal.removeEventListener('abort', stop)
  return { ...exit, stdout }
}

async function readText(stream: AsyncIterable<unknown> | null): Promise<string> {
  let text = ''
  for await (const chunk of stream ?? []) text += String(chunk)
  return text
}
