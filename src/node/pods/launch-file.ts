import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Launch } from './container-launch.ts'
import type { HostView } from './host-view.ts'
import { seccompFilter } from './seccomp-filter.ts'
import { capabilityNumbers } from './security-context.ts'
import type { SystemCalls } from './system-calls.ts'

/** What container-init.pl makes a container of. */
export interface LaunchPlan {
  readonly launch: Launch
  readonly calls: SystemCalls
  /** Undefined where the launch names a root filesystem. */
  readonly view: HostView | undefined
  /** Path of the network namespace; undefined for the host's. */
  readonly netnsPath: string | undefined
  readonly hostname: string | undefined
  /** Files to show inside: the resolver's, the hosts file. */
  readonly files: readonly { readonly source: string; readonly target: string }[]
  /** Folders to show inside, read-only: volumes. */
  readonly volumes: readonly { readonly source: string; readonly target: string }[]
  /** Folders of the control groups that programs beside the container's join. */
  readonly cgroups: readonly string[]
}

/** What a container may write to its root in all, which is memory; its own memory limit counts that, too. */
const scratchLimits = 'size=256m,nr_inodes=100k'

/** Names and their values, each a word that ends with a zero byte: NAME COUNT VALUE … Later versions read it, so a name keeps its meaning. Pure. */
function launchText(plan: LaunchPlan): string {
  const { launch, calls, view } = plan
  const { security } = launch
  const values: Readonly<Record<string, readonly (string | number)[]>> = {
    numbers: Object.entries(calls.init).flat(),
    nofollow: [calls.openNoFollow],
    netns: [plan.netnsPath ?? ''],
    hostname: [plan.hostname ?? ''],
    root: [launch.rootFilesystem ?? ''],
    scratch: [scratchLimits],
    folders: view?.folders.flat() ?? [],
    links: view?.links.flat() ?? [],
    shown: view?.shown ?? [],
    hidden: view?.hidden ?? [],
    files: plan.files.flatMap(({ source, target }) => [source, target]),
    volumes: plan.volumes.flatMap(({ source, target }) => [source, target]),
    readonly: [security.isRootReadOnly ? 1 : ''],
    workdir: [launch.workingDir === '' ? '/' : launch.workingDir],
    cgroups: plan.cgroups,
    uid: [security.user?.uid ?? 0],
    gid: [security.user?.gid ?? 0],
    groups: security.groups,
    capabilities: security.capabilities.map((name) => capabilityNumbers[name]),
    nonewprivileges: [security.noNewPrivileges ? 1 : ''],
    filter: [seccompFilter(calls).toString('hex')],
    env: launch.env.map(([name, value]) => `${name}=${value}`),
    command: launch.command,
  }
  return Object.entries(values)
    .flatMap(([name, all]) => [name, all.length, ...all])
    .map((word) => `${word}\0`)
    .join('')
}

const launchFile = 'launch'

export async function writeLaunch(folder: string, plan: LaunchPlan): Promise<void> {
  await writeFile(join(folder, launchFile), launchText(plan), { mode: 0o600 })
}

/** Where it is in the folder of a run; runs of versions before this one have none. */
export function launchFileOf(folder: string): string {
  return join(folder, launchFile)
}
