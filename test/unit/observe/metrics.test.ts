import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../../src/observe/index.ts'

test('Counters, gauges and histograms appear in the exposition with their labels.', async () => {
  const metrics = createMetrics()
  const syncs = metrics.counter({
    type: 'counter',
    name: 'platnet_proxy_syncs_total',
    help: 'Syncs.',
    labels: { result: ['ok'] },
  })
  syncs.add(2, { result: 'ok' })
  metrics.gauge({ type: 'gauge', name: 'platnet_proxy_services', help: 'Services.' }).set(7)
  metrics
    .histogram({ type: 'histogram', name: 'platnet_proxy_sync_seconds', help: 'Time.', buckets: [0.1, 1] })
    .observe(0.5)
  const { contentType, body } = await metrics.text()
  assert.match(contentType, /^text\/plain; version=0\.0\.4/)
  assert.match(body, /^platnet_proxy_syncs_total\{result="ok"\} 2$/m)
  assert.match(body, /^platnet_proxy_services 7$/m)
  assert.match(body, /^platnet_proxy_sync_seconds_bucket\{le="1"\} 1$/m)
  assert.match(body, /^process_resident_memory_bytes \d+$/m)
})

test('A collected gauge is read at each scrape and forgets labels that are gone.', async () => {
  const metrics = createMetrics()
  let levels = [{ value: 1, labels: { component: 'proxy' } }]
  metrics.collectedGauge<'component'>(
    { type: 'gauge', name: 'up', help: 'Up.', labels: { component: 'machine' } },
    () => levels,
  )
  assert.match((await metrics.text()).body, /^up\{component="proxy"\} 1$/m)
  levels = [{ value: 0, labels: { component: 'dns' } }]
  const { body } = await metrics.text()
  assert.match(body, /^up\{component="dns"\} 0$/m)
  assert.doesNotMatch(body, /proxy/)
})

test('A collected counter shows the totals of its source, read at each scrape.', async () => {
  const metrics = createMetrics()
  let value = 2
  metrics.collectedCounter<'kind'>(
    { type: 'counter', name: 'sent_total', help: 'Sent.', labels: { kind: 'resources' } },
    async () => [{ value, labels: { kind: 'Pod' } }],
  )
  assert.match((await metrics.text()).body, /^# TYPE sent_total counter\nsent_total\{kind="Pod"\} 2$/m)
  value = 5
  assert.match((await metrics.text()).body, /^sent_total\{kind="Pod"\} 5$/m)
})

test('Two registries share nothing, and one refuses a name twice.', async () => {
  const first = createMetrics()
  const second = createMetrics()
  first.counter({ type: 'counter', name: 'a_total', help: 'A.' }).add()
  second.counter({ type: 'counter', name: 'a_total', help: 'A.' })
  assert.match((await second.text()).body, /^a_total 0$/m)
  assert.throws(() => first.counter({ type: 'counter', name: 'a_total', help: 'A.' }), /a_total/)
})
