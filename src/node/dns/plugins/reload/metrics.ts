import { createHash } from 'node:crypto'
import type { MetricSpec } from '../../../../model/metric-spec.ts'
import type { Series } from '../../metrics/series.ts'

/** The metrics of `reload`. */
export const reloadMetrics: readonly MetricSpec[] = [
  {
    type: 'gauge',
    name: 'coredns_reload_version_info',
    help: 'The hash of the Corefile in effect.',
    labels: { hash: ['sha512'], value: 'configuration' },
  },
  {
    type: 'counter',
    name: 'coredns_reload_failed_total',
    help: 'Corefiles that could not be used.',
  },
]

/** Yields the count of failed reloads, and the hash of the Corefile's text where a block has `reload`. */
export function* reloadSeries(failedReloads: number, text: string, isEnabled: boolean): Iterable<Series> {
  yield { kind: 'counter', name: 'coredns_reload_failed_total', labels: {}, value: failedReloads }
  if (!isEnabled) return
  const labels = { hash: 'sha512', value: createHash('sha512').update(text).digest('hex') }
  yield { kind: 'gauge', name: 'coredns_reload_version_info', labels, value: 1 }
}
