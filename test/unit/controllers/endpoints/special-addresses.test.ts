import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planMirror } from '../../../../src/controllers/endpoints/plan-mirror.ts'
import { endpointsSchema } from '../../../../src/controllers/objects/endpoints.ts'
import { podSchema } from '../../../../src/controllers/objects/pod.ts'
import { createDialect } from '../../../../src/model/dialect.ts'

const special = ['127.0.0.1', '::ffff:127.0.0.1', '::0001', '169.254.169.254', 'fe80::1', '224.0.0.1', '0.0.0.0']

test('Endpoints that name special addresses are mirrored without them, and each is reported', () => {
  const endpoints = endpointsSchema.parse({
    metadata: { name: 'web', namespace: 'default', uid: 'u', resourceVersion: '1' },
    subsets: [{ addresses: [...special, '10.0.0.1'].map((ip) => ({ ip })), ports: [{ port: 80 }] }],
  })
  const { plan, invalidAddresses } = planMirror(endpoints, [], createDialect('kubernetes'))
  assert.deepEqual(invalidAddresses, special)
  const mirrored = plan.creates.flatMap((slice) => slice.endpoints.flatMap(({ addresses }) => addresses))
  assert.deepEqual(mirrored, ['10.0.0.1'])
})

test('a pod whose status names a special address has no address for endpoints', () => {
  const podIPs = [...special, '10.0.0.1'].map((ip) => ({ ip }))
  const pod = podSchema.parse({
    metadata: { name: 'p', namespace: 'default', uid: 'u', resourceVersion: '1' },
    spec: {},
    status: { podIPs },
  })
  assert.deepEqual(pod.status.ips, ['10.0.0.1'])
})
