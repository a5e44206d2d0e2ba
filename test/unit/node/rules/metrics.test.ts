import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRepairObservers } from '../../../../src/node/rules/metrics.ts'
import { createMetrics } from '../../../../src/observe/index.ts'

test('repairs are counted for each writer, and comparisons that found nothing are not', async () => {
  const metrics = createMetrics()
  const repairs = createRepairObservers(metrics)
  const services = repairs('services', 'IPv4')
  repairs('policies', 'IPv6')
  services.verified({ drift: ['a chain', 'another'] })
  services.verified({ drift: [] })
  const { body } = await metrics.text()
  assert.match(body, /platnet_rules_repairs_total\{rules="services",ip_family="IPv4"\} 1\n/)
  assert.match(body, /platnet_rules_repairs_total\{rules="policies",ip_family="IPv6"\} 0\n/)
})
