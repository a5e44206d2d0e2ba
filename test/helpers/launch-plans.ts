import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { startDetached } from '../../src/host/index.ts'
import type { Launch } from '../../src/node/pods/container-launch.ts'
import { planHostView } from '../../src/node/pods/host-view.ts'
import { type LaunchPlan, writeLaunch } from '../../src/node/pods/launch-file.ts'
import { decideSecurity } from '../../src/node/pods/security-context.ts'
import { systemCallsOf } from '../../src/node/pods/system-calls.ts'

const shim = resolve(import.meta.dirname, '../../src/node/pods/container-shim.sh')

/** A container without volumes, limits and variables, in the host's network. */
export function launchOf(command: readonly string[], changed: Partial<Launch> = {}): Launch {
  const security = decideSecurity({}, {}, false)
  const plain = { image: '', env: [], workingDir: '', limits: {}, mounts: [], rootFilesystem: undefined }
  return { ...plain, command, security, ...changed }
}

/** Returns the launch file for container-init.pl on this machine; `hidden` are paths that must not be visible. */
export function planOf(
  launch: Launch,
  changed: Partial<LaunchPlan> & { shown?: readonly string[]; hidden?: readonly string[] } = {},
): LaunchPlan {
  const { shown = [], hidden = [], ...others } = changed
  const calls = systemCallsOf(process.arch)
  if (calls === undefined) throw new Error(`no numbers of system calls for ${process.arch}`)
  const view = launch.rootFilesystem === undefined ? planHostView({ shown, hidden }) : undefined
  return {
    launch,
    calls,
    view,
    netnsPath: undefined,
    hostname: undefined,
    files: [],
    volumes: [],
    cgroups: [],
    ...others,
  }
}

/** Starts the shim like the runtime, with `logPieces` log files of `logBytes`. */
export async function startShim(
  folder: string,
  plan: LaunchPlan,
  { logBytes = 100_000, logPieces = 3 }: { logBytes?: number; logPieces?: number } = {},
): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  await writeLaunch(folder, plan)
  const env = { PLATNET_CGROUPS: '', PLATNET_LOG_BYTES: String(logBytes), PLATNET_LOG_PIECES: String(logPieces) }
  await startDetached('sh', [shim, folder], { env })
}
