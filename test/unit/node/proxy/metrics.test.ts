import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProxyMetrics } from '../../../../src/node/proxy/index.ts'
import { createMetrics } from '../../../../src/observe/index.ts'

test('A failed write counts under the names of kube-proxy for its mode, from zero on', async () => {
  const registry = createMetrics()
  const [ipv4, ipv6] = (['IPv4', 'IPv6'] as const).map(createProxyMetrics(registry))
  ipv4?.countFailure('partial', 'iptables')
  ipv6?.countFailure('full', 'nftables')
  const { body } = await registry.text()
  const failuresOf = (name: string) =>
    [...body.matchAll(new RegExp(`^kubeproxy_sync_proxy_rules_${name}_failures_total\\{.*\\} (\\d+)$`, 'gm'))].map(
      ([, value]) => Number(value),
    )
  assert.deepEqual(failuresOf('iptables_restore'), [1, 1])
  assert.deepEqual(failuresOf('iptables_partial_restore'), [1, 0])
  assert.deepEqual(failuresOf('nftables_sync'), [0, 1])
})
