import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { explainInCluster } from '../../../src/console/explain-in-cluster.ts'
import { endpointAt, serviceAt, sliceOf } from '../../helpers/console-source.ts'

describe('a Service explained without the view of a node', () => {
  test('gives each endpoint its reason', () => {
    const service = serviceAt(1, { type: 'NodePort', externalTrafficPolicy: 'Local' })
    const endpoints = [
      endpointAt('10.244.0.1', { hints: { zones: ['zone-b'], nodes: [] } }),
      endpointAt('10.244.0.2', { ready: false }),
      endpointAt('10.244.0.3', { ready: false, terminating: true }),
      endpointAt('10.244.0.4', { ready: false, serving: false, terminating: true }),
    ]
    const [family] = explainInCluster(service, [sliceOf(service, endpoints)])
    assert.deepEqual(
      family?.ports[0]?.endpoints.map(({ isUsed, reason }) => [isUsed, reason]),
      [
        [
          true,
          'used: ready; traffic from outside comes by its own node (policy Local); topology hints prefer it for zone-b',
        ],
        [false, 'not used: it is not ready'],
        [false, 'not used: it terminates, and others are ready'],
        [false, 'not used: it terminates and serves no more'],
      ],
    )
  })

  test('uses endpoints that terminate where no other is ready, and says so', () => {
    const service = serviceAt(1)
    const [family] = explainInCluster(service, [
      sliceOf(service, [endpointAt('10.244.0.3', { ready: false, terminating: true })]),
    ])
    assert.equal(family?.ports[0]?.endpoints[0]?.reason, 'used: no other is ready, and it terminates but still serves')
  })

  test('says why connections are refused: no slice, or no port of that name', () => {
    const service = serviceAt(1, { ports: [{ name: 'admin', protocol: 'TCP', port: 81 }] })
    const refusals = (slices: Parameters<typeof explainInCluster>[1]) =>
      explainInCluster(service, slices)[0]?.ports[0]?.refusals[0] ?? ''
    assert.match(refusals([]), /^connections are refused: no EndpointSlice belongs to it/)
    const other = { ...service, ports: [{ name: 'http', protocol: 'TCP' as const, port: 80 }] }
    assert.match(
      refusals([sliceOf(other, [endpointAt('10.244.0.1')])]),
      /have no TCP port "admin", only a TCP port "http";/,
    )
    const unnamed = { ...service, ports: [{ name: '', protocol: 'TCP' as const, port: 81 }] }
    const none = { ...sliceOf(other, [endpointAt('10.244.0.1')]), ports: [] }
    assert.match(
      explainInCluster(unnamed, [none])[0]?.ports[0]?.refusals[0] ?? '',
      /have no TCP port without a name; no pod may have/,
    )
  })
})
