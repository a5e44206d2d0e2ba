import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { endpointsOf } from '../../../../src/api/webhooks/resolve-service.ts'

function slice(addressType: string, port: object, ...endpoints: readonly object[]) {
  return {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: {},
    addressType,
    ports: [port],
    endpoints,
  } as unknown as Parameters<typeof endpointsOf>[0][number]
}

const https = { name: 'https', port: 8443 }
const at = (address: string, ready?: boolean) => ({
  addresses: [address, '10.0.0.99'],
  conditions: ready === undefined ? {} : { ready },
})

describe('the endpoints of a webhook', () => {
  test('are the first addresses of ready ones, and of those of which nothing is known', () => {
    const found = endpointsOf(
      [slice('IPv4', https, at('10.0.0.1', true), at('10.0.0.2'), at('10.0.0.3', false))],
      'https',
      '',
    )
    assert.deepEqual(found, [
      { host: '10.0.0.1', port: 8443 },
      { host: '10.0.0.2', port: 8443 },
    ])
  })

  test('are those of the slices that have the port of that name', () => {
    const slices = [
      slice('IPv4', { name: 'other', port: 1 }, at('10.0.0.1')),
      slice('IPv4', { name: 'https' }, at('10.0.0.2')),
      slice('IPv4', { port: 443 }, at('10.0.0.3')),
    ]
    assert.deepEqual(endpointsOf(slices, 'https', 'IPv4'), [])
    assert.deepEqual(endpointsOf(slices, '', 'IPv4'), [{ host: '10.0.0.3', port: 443 }])
  })

  test('are of the first family of the Service while that has any', () => {
    const ipv4 = slice('IPv4', https, at('10.0.0.1'))
    assert.deepEqual(endpointsOf([ipv4, slice('IPv6', https, at('fd00::1'))], 'https', 'IPv6'), [
      { host: 'fd00::1', port: 8443 },
    ])
    assert.deepEqual(endpointsOf([ipv4, slice('IPv6', https, at('fd00::1', false))], 'https', 'IPv6'), [
      { host: '10.0.0.1', port: 8443 },
    ])
  })
})
