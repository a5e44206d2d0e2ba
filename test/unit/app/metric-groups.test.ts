import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoints, metricGroups } from '../../../src/app/metric-groups.ts'
import type { LabelValues, MetricSpec } from '../../../src/model/metric-spec.ts'
import { createMetrics, processMetrics } from '../../../src/observe/index.ts'

const specs = metricGroups.flatMap((group) => group.specs)
const namesOf = (chosen: readonly MetricSpec[]) => [...new Set(chosen.map(({ name }) => name))].sort()

test('Names, units and help of every metric follow the conventions of Prometheus.', () => {
  assert.ok(specs.length > 100)
  for (const { name, type, help, labels = {} } of specs) {
    assert.match(name, /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/, name)
    assert.doesNotMatch(name, /_(ms|milliseconds|minutes|kib|mib|kilobytes|percent|count|sum|bucket)(_|$)/, name)
    assert.match(help, /^[A-Z0-9][^\n]*\.$/, `${name}: the help is a sentence`)
    if (type === 'counter') assert.match(name, /_total$/, name)
    for (const label of Object.keys(labels)) assert.match(label, /^[a-z_]+$/, `${name}{${label}}`)
  }
})

test('Gauges and histograms end in _total only where kube-proxy names them so.', () => {
  const misnamed = specs.filter(({ name, type }) => type !== 'counter' && name.endsWith('_total'))
  assert.deepEqual(namesOf(misnamed), [
    'kubeproxy_sync_proxy_rules_iptables_total',
    'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
  ])
})

test('Every histogram has ascending buckets, and only histograms have them.', () => {
  for (const { name, type, buckets } of specs) {
    assert.equal(buckets !== undefined, type === 'histogram', name)
    assert.deepEqual(
      buckets,
      buckets?.toSorted((a, b) => a - b),
      name,
    )
    assert.ok((buckets?.length ?? 0) <= 80, name)
  }
})

test('Names of API objects are labels of few metrics, and no label is what a client sends.', () => {
  const withBound = (bound: LabelValues) => specs.filter(({ labels = {} }) => Object.values(labels).includes(bound))
  assert.deepEqual(namesOf(withBound('objects')), [
    'apiserver_admission_webhook_admission_duration_seconds',
    'apiserver_admission_webhook_request_total',
    'platnet_admission_webhook_failed_open_total',
    'platnet_admission_webhook_rejections_total',
    'platnet_ingress_certificate_expiry_timestamp_seconds',
    'platnet_ingress_requests_total',
    'platnet_policy_denied_packets_by_policy_total',
    'platnet_policy_denied_packets_total',
  ])
  const labels = new Set(specs.flatMap((spec) => Object.keys(spec.labels ?? {})))
  for (const label of ['path', 'url', 'uri', 'user_agent', 'user', 'client', 'qname', 'query', 'le', 'quantile', 'uid'])
    assert.ok(!labels.has(label), label)
})

test('Each endpoint has a metric only once.', () => {
  for (const endpoint of Object.values(endpoints)) {
    const names = metricGroups.filter((group) => group.endpoint === endpoint).flatMap((group) => group.specs)
    assert.equal(namesOf(names).length, names.length, endpoint)
  }
})

test('The metrics of the process are those that prom-client collects, under the types that are documented.', async () => {
  const { body } = await createMetrics().text()
  const served = [...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`)
  assert.deepEqual(served.sort(), processMetrics.map(({ name, type }) => `${name} ${type}`).sort())
})

test('The metrics of the process alone are rendered for DNS.', async () => {
  const body = await createMetrics().processText()
  assert.match(body, /^process_resident_memory_bytes \d+$/m)
  assert.doesNotMatch(body, /^(nodejs_|\n)/m)
})
