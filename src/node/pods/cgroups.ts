import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from '../../model/errors.ts'
import type { Limits } from './container-launch.ts'
import type { ContainerRun } from './runtime.ts'

/** The hierarchy of each controller. A machine can have both versions mounted (hybrid), with each controller in one of them. */
export interface CgroupLayout {
  readonly memory: Hierarchy | undefined
  readonly cpu: Hierarchy | undefined
  readonly pids: Hierarchy | undefined
  /** The hierarchy that counts CPU time: of version 1 alone, because version 2 counts in every group. */
  readonly cpuacct: Hierarchy | undefined
}

/** The limits of one container; `processes` is ignored on a machine without the controller. */
export interface GroupLimits extends Limits {
  readonly processes?: number
}

interface Hierarchy {
  readonly version: 1 | 2
  /** The mount point. */
  readonly root: string
}

/** The folders of the control groups that a container's processes join, and the limits that do not hold with the reasons. */
export interface ContainerCgroups {
  readonly folders: readonly string[]
  readonly problems: readonly string[]
}

const ownFolder = 'platnet'
const cpuPeriodUs = 100_000

/** Finds the mounted controllers below `root`. Changes nothing. */
export function detectCgroups(root = '/sys/fs/cgroup'): CgroupLayout {
  const unified = readWords(join(root, 'cgroup.controllers'))
  const find = (controller: keyof CgroupLayout): Hierarchy | undefined => {
    if (unified.includes(controller)) return { version: 2, root }
    const legacy = join(root, controller)
    return existsSync(join(legacy, 'cgroup.procs')) ? { version: 1, root: legacy } : undefined
  }
  return { memory: find('memory'), cpu: find('cpu'), pids: find('pids'), cpuacct: find('cpuacct') }
}

/**
 * Creates the control groups of one container with its limits, and those that only count what it uses. Never throws: a
 * limit that cannot be set is in `problems`. A group that only counts and cannot be created is left out: the container
 * then has no figures.
 */
export function makeCgroups(layout: CgroupLayout, name: string, limits: GroupLimits): ContainerCgroups {
  const folders = new Set<string>()
  const problems: string[] = []
  for (const [controller, files] of Object.entries(limitFiles(layout, limits))) {
    const hierarchy = layout[controller as keyof CgroupLayout]
    if (hierarchy === undefined) {
      problems.push(`the ${controller} limit does not hold: this machine has no control group for ${controller}`)
      continue
    }
    try {
      folders.add(makeGroup(hierarchy, controller, name, files))
    } catch (error) {
      problems.push(`the ${controller} limit does not hold: ${describeError(error)}`)
    }
  }
  for (const folder of makeCountingGroups(layout, name)) folders.add(folder)
  return { folders: [...folders], problems }
}

function makeCountingGroups(layout: CgroupLayout, name: string): readonly string[] {
  return (['memory', 'cpu', 'cpuacct'] as const).flatMap((controller) => {
    const hierarchy = layout[controller]
    try {
      return hierarchy === undefined ? [] : [makeGroup(hierarchy, controller, name, [])]
    } catch {
      return []
    }
  })
}

/** Removes the control groups of a container that has ended. Does nothing for groups that do not exist. */
export function removeCgroups(layout: CgroupLayout, name: string): void {
  for (const hierarchy of [layout.memory, layout.cpu, layout.pids, layout.cpuacct]) {
    const folder = hierarchy && groupFolder(hierarchy, name)
    if (folder === undefined || !existsSync(folder)) continue
    try {
      rmdirSync(folder)
    } catch {
      // The group still has a process. It uses little memory, and the next removal of the pod's groups tries again.
    }
  }
}

/** Returns the folder of a container's group. */
export function groupFolder({ root }: Hierarchy, name: string): string {
  return join(root, ownFolder, name)
}

/** Returns the name of the groups of one run of a container. */
export function cgroupName(uid: string, { container, attempt }: ContainerRun): string {
  return `${uid}-${container}-${attempt}`
}

/** Returns file names and texts by controller. Version 2 has both numbers of a CPU limit in one file. */
function limitFiles(
  layout: CgroupLayout,
  { memoryBytes, cpuMillis, processes }: GroupLimits,
): Readonly<Record<string, readonly (readonly [string, string])[]>> {
  const quotaUs = Math.max(1000, Math.round(((cpuMillis ?? 0) / 1000) * cpuPeriodUs))
  const cpu: readonly (readonly [string, string])[] =
    layout.cpu?.version === 2
      ? [['cpu.max', `${quotaUs} ${cpuPeriodUs}`]]
      : [
          ['cpu.cfs_period_us', String(cpuPeriodUs)],
          ['cpu.cfs_quota_us', String(quotaUs)],
        ]
  const memoryFile = layout.memory?.version === 2 ? 'memory.max' : 'memory.limit_in_bytes'
  return {
    ...(memoryBytes === undefined ? {} : { memory: [[memoryFile, String(memoryBytes)] as const] }),
    ...(cpuMillis === undefined ? {} : { cpu }),
    ...(processes === undefined || layout.pids === undefined
      ? {}
      : { pids: [['pids.max', String(processes)] as const] }),
  }
}

function makeGroup(
  { version, root }: Hierarchy,
  controller: string,
  name: string,
  files: readonly (readonly [string, string])[],
): string {
  const parent = join(root, ownFolder)
  const folder = join(parent, name)
  mkdirSync(parent, { recursive: true })
  if (version === 2)
    for (const level of [root, parent]) writeFileSync(join(level, 'cgroup.subtree_control'), `+${controller}`)
  mkdirSync(folder, { recursive: true })
  for (const [file, text] of files) writeFileSync(join(folder, file), text)
  return folder
}

function readWords(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ') : []
}
