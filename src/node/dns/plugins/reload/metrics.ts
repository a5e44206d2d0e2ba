import { createHash } from 'node:crypto'
import type { Series } from '../../metrics/series.ts'

export const reloadHelp = {
  coredns_reload_version_info: 'The hash of the Corefile in effect.',
  coredns_reload_failed_total: 'Corefiles that could not be used.',
} as const

/** Yields the count of failed reloads, and the hash of the Corefile's text where a block has `reload`. */
export function* reloadSeries(failedReloads: number, text: string, isEnabled: boolean): Iterable<Series> {
  yield { kind: 'counter', name: 'coredns_reload_failed_total', labels: {}, value: failedReloads }
  if (!isEnabled) return
  const labels = { hash: 'sha512', value: createHash('sha512').update(text).digest('hex') }
  yield { kind: 'gauge', name: 'coredns_reload_version_info', labels, value: 1 }
}
