import assert from 'node:assert/strict'

const growth = 4
/** Quadratic work takes 16 times as long on a text of 4 times the length. */
const mostTimesLonger = 9
/** Below this, the collector and the compiler are what is measured. */
const noiseMs = 60

/** Fails where work on four times the input takes far more than four times the processor time. */
export function assertLinear(title: string, size: number, work: (size: number) => void): void {
  const short = bestOf(3, () => work(size))
  const long = bestOf(3, () => work(size * growth))
  assert.ok(
    long < short * mostTimesLonger + noiseMs,
    `${title}: ${short.toFixed(1)} ms for ${size}, ${long.toFixed(1)} ms for ${size * growth}`,
  )
}

/** Processor time of this thread, so that what else the machine does counts little. */
export function threadCpuMs(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

function bestOf(times: number, work: () => void): number {
  return Math.min(...Array.from({ length: times }, () => threadCpuMs(work)))
}
