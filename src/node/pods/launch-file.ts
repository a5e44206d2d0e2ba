import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Launch } from './container-launch.ts'
import type { HostView } from './host-view.ts'
import { seccompFilter } from './seccomp-filter.ts'
import { capabilityNumbers } from './security-context.ts'
import type { SystemCalls } from './system-calls.ts'

/** The input of container-init.pl for one container. */
export interface LaunchPlan {
  readonly launch: Launch
  readonly calls: SystemCalls
  /** Undefined if the launch has a root filesystem. */
  readonly view: HostView | undefined
  /** Path of the network namespace; undefined for the host's. */
  readonly netnsPath: string | undefined
  readonly hostname: string | undefined
  /** Files to mount inside: `resolv.conf` and `hosts`. */
  readonly files: readonly { readonly source: string; readonly target: string }[]
  /** Volumes: folders to mount inside, read-only. */
  readonly volumes: readonly { readonly source: string; readonly target: string }[]
  /** Folders of the control groups that programs of exec probes join. */
  readonly cgroups: readonly string[]
}

/** The limits of the container's root, a tmpfs. Its content also counts for the memory limit of the container. */
const scratchLimits = 'size=256m,nr_inodes=100k'

/** Encodes the plan as fields NAME COUNT VALUE …, each terminated by a zero byte. Later versions read the file, so a name keeps its meaning. Pure. */
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
    .flatMap(([name, fields]) => [name, fields.length, ...fields])
    .map((field) => `${field}\0`)
    .join('')
}

const launchFile = 'launch'

/** Writes the launch file into the folder of a run. */
export async function writeLaunch(folder: string, plan: LaunchPlan): Promise<void> {
  await writeFile(join(folder, launchFile), launchText(plan), { mode: 0o600 })
}

/** Returns the path of the launch file in the folder of a run. Runs of versions before 0.2 have none. */
export function launchFileOf(folder: string): string {
  return join(folder, launchFile)
}
