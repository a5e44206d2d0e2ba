import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createDialect } from '../../../../src/model/dialect.ts'
import { parseEndpointSlice } from '../../../../src/node/state/parse-endpoint-slice.ts'
import { parseEndpoints } from '../../../../src/node/state/parse-endpoints.ts'
import { parseService } from '../../../../src/node/state/parse-service.ts'

const dialect = createDialect('kubernetes')

/** As the API of another cluster may hold them. */
const spellings = [
  '127.0.0.1',
  '127.0.0.01',
  '::ffff:127.0.0.1',
  '::FFFF:7f00:1',
  '::127.0.0.1',
  '::1',
  '::0001',
  '169.254.169.254',
  '::ffff:169.254.169.254',
  '64:ff9b::169.254.169.254',
  'fe80::1',
  'fe80::1%eth0',
  '224.0.0.1',
  '0.0.0.0',
  '::',
  '255.255.255.255',
  'fd00:ec2::254',
]

describe('an address that no object may claim is set aside, and the rest of its object is used', () => {
  for (const address of spellings) {
    test(address, () => {
      const metadata = { name: 'web', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } }
      const service = parseService(
        {
          metadata,
          spec: {
            type: 'LoadBalancer',
            clusterIPs: [address],
            externalIPs: [address, '192.0.2.1'],
            ports: [{ port: 80 }],
          },
          status: { loadBalancer: { ingress: [{ ip: address }, { ip: '192.0.2.2' }] } },
        },
        dialect,
      )
      const { clusterIps, externalIps, loadBalancerVips } = service.value ?? {}
      assert.deepEqual([clusterIps, externalIps, loadBalancerVips], [[], ['192.0.2.1'], ['192.0.2.2']])
      assert.deepEqual(
        service.problems.map(({ field }) => field),
        ['spec.clusterIPs[0]', 'spec.externalIPs[0]', 'status.loadBalancer.ingress[0].ip'],
      )
      const slice = parseEndpointSlice(
        {
          metadata,
          addressType: 'IPv4',
          endpoints: [{ addresses: [address] }, { addresses: ['10.0.0.1'] }],
          ports: [{ name: '', port: 80 }],
        },
        dialect,
      )
      assert.deepEqual(
        slice.value?.endpoints.map((each) => each.address),
        ['10.0.0.1'],
      )
      assert.deepEqual(
        slice.problems.map(({ field }) => field),
        ['endpoints[0].addresses[0]'],
      )
      const endpoints = parseEndpoints(
        {
          metadata,
          subsets: [
            { addresses: [{ ip: address }, { ip: '10.0.0.1' }], notReadyAddresses: [{ ip: address }], ports: [] },
          ],
        },
        dialect,
      )
      assert.deepEqual(
        endpoints.value?.flatMap((each) => each.endpoints.map((one) => one.address)),
        ['10.0.0.1'],
      )
      assert.equal(endpoints.problems.length, 2)
    })
  }
})
