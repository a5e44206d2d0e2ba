import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serviceRow } from '../../../src/console/service-rows.ts'
import type { Endpoint } from '../../../src/model/endpoint-slice.ts'
import type { Service } from '../../../src/model/service.ts'
import { endpointAt, serviceAt, sliceOf } from '../../helpers/console-source.ts'

function rowOf(changes: Partial<Service>, ...endpoints: readonly Endpoint[]) {
  const service = serviceAt(1, changes)
  return serviceRow(service, [sliceOf(service, endpoints)])
}

const ready = endpointAt('10.244.0.1')
const unready = endpointAt('10.244.0.2', { ready: false, serving: false })
const draining = endpointAt('10.244.0.3', { ready: false, terminating: true })

describe('a Service as a row', () => {
  test('counts each address once, also one that stands in two slices', () => {
    const service = serviceAt(1)
    const slices = [sliceOf(service, [unready]), sliceOf(service, [{ ...unready, ready: true }, ready])]
    assert.deepEqual(serviceRow(service, slices).slice(4, 7), [2, 2, 'ok'])
  })

  test('tells which Services have no endpoint that answers', () => {
    assert.deepEqual(rowOf({}, ready).slice(4, 7), [1, 1, 'ok'])
    assert.deepEqual(rowOf({}, ready, unready).slice(4, 7), [1, 2, 'partly'])
    assert.deepEqual(rowOf({}, unready).slice(4, 7), [0, 1, 'none'])
    assert.deepEqual(rowOf({}).slice(4, 7), [0, 0, 'none'])
    assert.deepEqual(rowOf({ headless: true, clusterIps: [] }).slice(4, 7), [0, 0, 'idle'])
    assert.deepEqual(rowOf({ publishNotReadyAddresses: true }, unready).slice(4, 7), [1, 1, 'ok'])
  })

  test('a port that no endpoint has refuses connections, however many endpoints are ready', () => {
    const port = (name: string, number: number) => ({ name, protocol: 'TCP' as const, port: number })
    const [known] = serviceAt(1).ports
    assert.ok(known)
    const rest = (ports: Service['ports'], changes: Partial<Service> = {}, endpoints = [ready]) =>
      serviceRow(serviceAt(1, { ports, ...changes }), [sliceOf(serviceAt(1), endpoints)]).slice(4)
    assert.deepEqual(rest([port('other', 81)]), [1, 1, 'none', 'no endpoint has 81/TCP'])
    assert.deepEqual(rest([known, port('other', 81)]), [1, 1, 'partly', 'no endpoint has 81/TCP'])
    assert.deepEqual(rest([port('other', 81)], {}, []), [0, 0, 'none', ''])
    assert.deepEqual(rest([port('other', 81)], { headless: true, clusterIps: [] }), [1, 1, 'ok', ''])
  })

  test('says where only endpoints that terminate answer', () => {
    assert.deepEqual(rowOf({}, draining).slice(4), [0, 1, 'ok', 'only terminating'])
  })

  test('names type, addresses, ports and what is special', () => {
    const ports = [80, 81, 82, 83].map((port) => ({ name: `p${port}`, protocol: 'TCP' as const, port }))
    const row = rowOf(
      { type: 'NodePort', externalTrafficPolicy: 'Local', affinity: { timeoutSeconds: 5 }, ports },
      ready,
    )
    assert.deepEqual(row.slice(1, 4), ['NodePort', '10.96.0.1', '80/TCP, 81/TCP, 82/TCP +1'])
    assert.equal(row[7], 'external Local, ClientIP')
    assert.deepEqual(rowOf({ type: 'ExternalName', externalName: 'db.example.com' }).slice(1, 3), [
      'ExternalName',
      'db.example.com',
    ])
  })
})
