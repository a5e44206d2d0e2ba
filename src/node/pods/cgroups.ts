import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from '../../model/errors.ts'
import type { Limits } from './container-launch.ts'

/** Where this kernel lets limits be set; a machine may have both versions mounted (hybrid), each controller in one of them. */
export interface CgroupLayout {
  readonly memory: Hierarchy | undefined
  readonly cpu: Hierarchy | undefined
  readonly pids: Hierarchy | undefined
}

/** What of a container is limited; `processes` where the machine can. */
export interface GroupLimits extends Limits {
  readonly processes?: number
}

interface Hierarchy {
  readonly version: 1 | 2
  /** Its mount point. */
  readonly root: string
}

/** The folders a container's processes join, and which limits could not be set and why. */
export interface ContainerCgroups {
  readonly folders: readonly string[]
  readonly problems: readonly string[]
}

const ownFolder = 'platnet'
const cpuPeriodUs = 100_000

/** Looks at what is mounted; changes nothing. */
export function detectCgroups(root = '/sys/fs/cgroup'): CgroupLayout {
  const unified = readWords(join(root, 'cgroup.controllers'))
  const find = (controller: keyof CgroupLayout): Hierarchy | undefined => {
    if (unified.includes(controller)) return { version: 2, root }
    const legacy = join(root, controller)
    return existsSync(join(legacy, 'cgroup.procs')) ? { version: 1, root: legacy } : undefined
  }
  return { memory: find('memory'), cpu: find('cpu'), pids: find('pids') }
}

/** Makes the groups of one container with its limits. Never throws: a limit that cannot be set is a problem to tell. */
export function makeCgroups(layout: CgroupLayout, name: string, limits: GroupLimits): ContainerCgroups {
  const folders = new Set<string>()
  const problems: string[] = []
  for (const [controller, files] of Object.entries(limitFiles(layout, limits))) {
    const hierarchy = layout[controller as keyof CgroupLayout]
    if (hierarchy === undefined) {
      problems.push(`no control group limits ${controller} on this machine: the ${controller} limit does not hold`)
      continue
    }
    try {
      folders.add(makeGroup(hierarchy, controller, name, files))
    } catch (error) {
      problems.push(`the ${controller} limit does not hold: ${describeError(error)}`)
    }
  }
  return { folders: [...folders], problems }
}

/** Takes the groups of a container away whose processes are gone; what is not there is fine. */
export function removeCgroups(layout: CgroupLayout, name: string): void {
  for (const hierarchy of [layout.memory, layout.cpu, layout.pids]) {
    const folder = hierarchy && join(hierarchy.root, ownFolder, name)
    if (folder === undefined || !existsSync(folder)) continue
    try {
      rmdirSync(folder)
    } catch {
      // Still busy: it is empty soon, holds no memory to speak of, and the pod's next removal tries again.
    }
  }
}

/** By controller: file and text. Version 2 says both of a CPU limit's numbers in one file. */
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
