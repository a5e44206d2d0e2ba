/** CPU time that all programs of the node have used since its start, and their memory now. */
export interface NodeUsage {
  readonly startedAtMs: number
  readonly cpuSeconds: number
  readonly memoryBytes: number
}

/** The unit of /proc/stat on every architecture that Node runs on (USER_HZ, proc(5)). */
const ticksPerSecond = 100

/**
 * Reads the use of the node from the texts of /proc/stat and /proc/meminfo (proc(5)). Memory is what is neither free nor
 * file pages that the kernel can drop at once, as kubelet counts it. Throws RangeError for other texts.
 */
export function parseNodeUsage(stat: string, meminfo: string): NodeUsage {
  const cpu = /^cpu +([\d ]+)$/m.exec(stat)?.[1]?.trim().split(/ +/).map(Number) ?? []
  const [user, nice, system, , , irq, softirq, steal] = cpu
  const ticks = [user, nice, system, irq, softirq, steal].reduce<number>((sum, each) => sum + (each ?? 0), 0)
  const bootSeconds = Number(/^btime (\d+)$/m.exec(stat)?.[1])
  const [total, free, inactive] = ['MemTotal', 'MemFree', 'Inactive\\(file\\)'].map((name) => {
    return Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(meminfo)?.[1]) * 1024
  })
  const memoryBytes = Math.max(0, (total ?? Number.NaN) - (free ?? 0) - (inactive ?? 0))
  if (cpu.length < 4 || Number.isNaN(bootSeconds + memoryBytes))
    throw new RangeError(
      '/proc/stat and /proc/meminfo: expected the lines cpu, btime, MemTotal, MemFree, Inactive(file)',
    )
  return { startedAtMs: bootSeconds * 1000, cpuSeconds: ticks / ticksPerSecond, memoryBytes }
}
