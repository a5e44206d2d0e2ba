import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ForwardMetrics } from '../../../../../src/node/dns/plugins/forward/metrics.ts'
import type { Upstream } from '../../../../../src/node/dns/plugins/forward/upstream.ts'

const [kept, gone] = ['192.0.2.1:53', '192.0.2.2:53'].map((name) => ({ name }) as Upstream) as [Upstream, Upstream]

test('what was counted of an upstream that is not configured any more is forgotten', () => {
  const metrics = new ForwardMetrics()
  for (const upstream of [kept, gone]) {
    metrics.countReply(upstream, 0.01, 0)
    metrics.countReply(upstream, 0.01, 2)
    metrics.countConnection(upstream, 'udp', false)
    metrics.countProbeFailure(upstream)
  }
  const shown = () => new Set([...metrics.series()].flatMap(({ labels }) => labels['to'] ?? []))
  assert.deepEqual(shown(), new Set([kept.name, gone.name]))
  metrics.keepOnly(new Set([kept.name]))
  assert.deepEqual(shown(), new Set([kept.name]))
})

test('replies are shown under the names of before CoreDNS 1.12 and after it', () => {
  const metrics = new ForwardMetrics()
  for (const rcode of [0, 0, 2]) metrics.countReply(kept, 0.01, rcode)
  const values = [...metrics.series()].flatMap((line) =>
    line.kind === 'counter' && line.labels['to'] !== undefined
      ? [`${line.name} ${line.labels['rcode'] ?? ''} ${line.value}`]
      : [],
  )
  assert.deepEqual(values, [
    'coredns_forward_responses_total NOERROR 2',
    'coredns_forward_responses_total SERVFAIL 1',
    'coredns_forward_requests_total  3',
  ])
})
