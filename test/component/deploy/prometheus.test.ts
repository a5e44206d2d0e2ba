import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { metricGroups } from '../../../src/app/metric-groups.ts'
import type { LabelValues, MetricSpec } from '../../../src/model/metric-spec.ts'
import { createMetrics } from '../../../src/observe/index.ts'

const folder = resolve(import.meta.dirname, '../../../deploy/prometheus')
const hasPromtool = spawnSync('promtool', ['--version']).status === 0

function promtool(args: readonly string[], input = '') {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, input, encoding: 'utf8' })
  return { status, output: `${stdout}${stderr}` }
}

const exampleOf = (values: LabelValues) => (typeof values === 'string' ? values : (values[0] ?? ''))

/** Renders one sample of every declared metric, those of the process apart: prom-client has them already. */
async function renderExamples(): Promise<string> {
  const metrics = createMetrics()
  const specs = new Map(metricGroups.flatMap(({ specs: own }) => own).map((spec) => [spec.name, spec] as const))
  for (const spec of specs.values()) if (!/^(process|nodejs)_/.test(spec.name)) addExample(metrics, spec)
  return (await metrics.text()).body
}

function addExample(metrics: ReturnType<typeof createMetrics>, spec: MetricSpec): void {
  const labels = Object.fromEntries(
    Object.entries(spec.labels ?? {}).map(([name, values]) => [name, exampleOf(values)]),
  )
  const { type, buckets = [] } = spec
  if (type === 'counter') metrics.counter({ ...spec, type }).add(1, labels)
  if (type === 'gauge') metrics.gauge({ ...spec, type }).set(1, labels)
  if (type === 'histogram') metrics.histogram({ ...spec, type, buckets }).observe(1, labels)
}

describe('what Prometheus says', {
  skip: !hasPromtool && 'needs promtool: apt-get install prometheus',
}, () => {
  test('promtool finds fault with no metric, but with the names of two gauges of kube-proxy.', async () => {
    const { output } = promtool(['check', 'metrics'], await renderExamples())
    assert.deepEqual(output.trim().split('\n').sort(), [
      'kubeproxy_sync_proxy_rules_iptables_total non-counter metrics should not have "_total" suffix',
      'kubeproxy_sync_proxy_rules_no_local_endpoints_total non-counter metrics should not have "_total" suffix',
    ])
  })

  test('The scrape configuration and the rules are valid.', () => {
    const config = promtool(['check', 'config', '--syntax-only', 'prometheus.yaml'])
    assert.equal(config.status, 0, config.output)
    const rules = promtool(['check', 'rules', '--lint-fatal', 'alerts.yaml'])
    assert.equal(rules.status, 0, rules.output)
  })

  test('Each alert fires for the series that should make it fire, and for no other.', () => {
    const { status, output } = promtool(['test', 'rules', 'alerts.test.yaml'])
    assert.equal(status, 0, output)
  })
})
