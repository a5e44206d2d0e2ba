import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectKey } from '../../../../src/model/api-object.ts'
import { createIngressMetrics } from '../../../../src/node/ingress/metrics.ts'
import { createMetrics } from '../../../../src/observe/index.ts'

const counts = [
  { ingress: 'default/web' as ObjectKey, host: 'exact', code: '200', count: 3 },
  { ingress: 'default/gone' as ObjectKey, host: 'exact', code: '200', count: 5 },
  { host: 'none', code: '404', count: 2 },
]

test('requests of an Ingress that is gone are not shown any more, those that no Ingress answers are', async () => {
  const registry = createMetrics()
  const metrics = createIngressMetrics(registry, async () => counts)
  const scrape = async () => (await registry.text()).body.match(/^platnet_ingress_requests_total.*$/gm)
  assert.equal((await scrape())?.length, 3)
  metrics.showOnly(() => new Set(['default/web' as ObjectKey]))
  assert.deepEqual(await scrape(), [
    'platnet_ingress_requests_total{namespace="default",ingress="web",host="exact",code="200"} 3',
    'platnet_ingress_requests_total{namespace="",ingress="",host="none",code="404"} 2',
  ])
})
