import type { Directive } from '../../corefile/blocks.ts'
import { badValue, readArgs, readDuration, refuseOptions } from '../../corefile/values.ts'

const defaults = { intervalMs: 30_000, jitterMs: 15_000 }
const minIntervalMs = 2000
const minJitterMs = 1000

export interface ReloadSettings {
  readonly intervalMs: number
  readonly jitterMs: number
}

/** Reads `reload [INTERVAL] [JITTER]`. A jitter above half of the interval becomes half of it. */
export function readReload(directive: Directive): ReloadSettings {
  const [interval, jitter] = readArgs(directive, 0, 2)
  refuseOptions(directive)
  const intervalMs = interval === undefined ? defaults.intervalMs : readDuration(interval, { min: minIntervalMs })
  const wantedMs = jitter === undefined ? defaults.jitterMs : readDuration(jitter)
  if (jitter !== undefined && wantedMs !== 0 && wantedMs < minJitterMs) {
    throw badValue(jitter, 'a jitter of 0, or of at least 1s')
  }
  return { intervalMs, jitterMs: Math.min(wantedMs, intervalMs / 2) }
}
