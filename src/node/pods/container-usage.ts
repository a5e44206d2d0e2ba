import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CgroupLayout } from './cgroups.ts'
import { cgroupName, groupFolder } from './cgroups.ts'
import { readRun } from './container-files.ts'
import type { PodFolders, StoredPod } from './pod-folders.ts'

/** CPU time that a running container has used since its start, and its memory now. */
export interface ContainerUsage {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  readonly startedAtMs: number
  readonly cpuSeconds: number
  /** The working set: without file pages that the kernel can drop at once. */
  readonly memoryBytes: number
}

/**
 * Reads the use of every running container of the records from its control groups. Leaves out containers of an engine,
 * which has the groups, and those that end in that moment.
 */
export function readContainerUsage(
  folders: PodFolders,
  layout: CgroupLayout,
  nowMs: number,
): readonly ContainerUsage[] {
  const { pods } = folders.readAll()
  return pods
    .filter(({ sandbox, engineSocket }) => sandbox === 'ready' && engineSocket === undefined)
    .flatMap((pod) => usageOfPod(pod, folders, layout, nowMs))
}

function usageOfPod(
  { uid, namespace, name, containers }: StoredPod,
  folders: PodFolders,
  layout: CgroupLayout,
  nowMs: number,
): readonly ContainerUsage[] {
  return Object.entries(containers).flatMap(([container, { attempt, end }]) => {
    const run = { container, attempt }
    const state = end ?? readRun(folders.runFolder(uid, run), nowMs)
    if (state.kind !== 'running') return []
    const used = readGroupUsage(layout, cgroupName(uid, run))
    return used === undefined ? [] : [{ namespace, pod: name, container, startedAtMs: state.startedAtMs, ...used }]
  })
}

/** Returns the use of one group of containers; undefined where a group does not exist. */
export function readGroupUsage(
  layout: CgroupLayout,
  name: string,
): Pick<ContainerUsage, 'cpuSeconds' | 'memoryBytes'> | undefined {
  const cpuSeconds = readCpuSeconds(layout, name)
  const memoryBytes = readWorkingSet(layout, name)
  return cpuSeconds === undefined || memoryBytes === undefined ? undefined : { cpuSeconds, memoryBytes }
}

function readCpuSeconds(layout: CgroupLayout, name: string): number | undefined {
  if (layout.cpu?.version === 2) {
    const micros = readFields(join(groupFolder(layout.cpu, name), 'cpu.stat')).get('usage_usec')
    return micros === undefined ? undefined : micros / 1e6
  }
  if (layout.cpuacct === undefined) return undefined
  const nanos = readNumber(join(groupFolder(layout.cpuacct, name), 'cpuacct.usage'))
  return nanos === undefined ? undefined : nanos / 1e9
}

function readWorkingSet({ memory }: CgroupLayout, name: string): number | undefined {
  if (memory === undefined) return undefined
  const folder = groupFolder(memory, name)
  const [usage, inactive] =
    memory.version === 2 ? ['memory.current', 'inactive_file'] : ['memory.usage_in_bytes', 'total_inactive_file']
  const used = readNumber(join(folder, usage))
  const droppable = readFields(join(folder, 'memory.stat')).get(inactive) ?? 0
  return used === undefined ? undefined : Math.max(0, used - droppable)
}

/** Reads lines of a name and a number; none if the file does not exist. */
function readFields(file: string): ReadonlyMap<string, number> {
  const lines = readText(file).split('\n')
  const pairs = lines.map((line) => /^(\w+) (\d{1,20})$/.exec(line))
  return new Map(pairs.flatMap((pair) => (pair === null ? [] : [[pair[1] ?? '', Number(pair[2])]])))
}

function readNumber(file: string): number | undefined {
  const text = readText(file).trim()
  return /^\d{1,20}$/.test(text) ? Number(text) : undefined
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
