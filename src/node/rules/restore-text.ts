import { TimeSlice } from '../../loop/time-slice.ts'
import type { IpFamily } from '../../model/ip.ts'
import { renderRestoreInParts } from '../../netfilter/render.ts'
import type { TableChange } from '../../netfilter/ruleset.ts'

/** Renders the input of `iptables-restore`; other work runs in between. */
export async function renderInTimeSlices(changes: readonly TableChange[], family: IpFamily): Promise<string> {
  const parts: string[] = []
  const slice = new TimeSlice()
  for (const part of renderRestoreInParts(changes, family)) {
    parts.push(part)
    if (slice.spent) await slice.pause()
  }
  return parts.join('')
}
