import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndpointSlice } from '../../../../src/model/endpoint-slice.ts'
import type { Service } from '../../../../src/model/service.ts'
import { planService } from '../../../../src/node/proxy/plan.ts'
import { ip, makeEndpoint, makePort, makeService, makeSlice } from '../../../helpers/services.ts'

const node = { nodeName: 'node-a', family: 'IPv4' } as const
const web = makeService('default/web', '10.96.0.10')
const going = { ready: false, terminating: true } as const

function chosen(slices: readonly EndpointSlice[], service: Service = web): { cluster: string[]; local: string[] } {
  const [frontend] = planService(service, slices, node)
  const addresses = (list: readonly { address: string; port: number }[] = []) =>
    list.map((e) => `${e.address}:${e.port}`)
  return { cluster: addresses(frontend?.clusterEndpoints), local: addresses(frontend?.localEndpoints) }
}

function httpSlice(...endpoints: Parameters<typeof makeSlice>[2][number][]): EndpointSlice {
  return makeSlice('default/web', [['http', 'TCP', 8080]], endpoints)
}

test('ready endpoints are used, in lexical order of address and port', () => {
  const slice = httpSlice('10.244.0.9', '10.244.0.10', makeEndpoint('10.244.0.1', { ready: false }))
  assert.deepEqual(chosen([slice]).cluster, ['10.244.0.10:8080', '10.244.0.9:8080'])
})

test('endpoints that are going but still serve are used only while none is ready', () => {
  const old = makeEndpoint('10.244.0.1', going)
  const dead = makeEndpoint('10.244.0.2', { ...going, serving: false })
  assert.deepEqual(chosen([httpSlice(old, dead)]).cluster, ['10.244.0.1:8080'])
  assert.deepEqual(chosen([httpSlice(old, dead, '10.244.0.3')]).cluster, ['10.244.0.3:8080'])
})

test('cluster and local endpoints fall back each by themselves', () => {
  const slice = httpSlice(
    makeEndpoint('10.244.0.1', { nodeName: 'node-b' }),
    makeEndpoint('10.244.0.2', { ...going, nodeName: 'node-a' }),
  )
  assert.deepEqual(chosen([slice]), { cluster: ['10.244.0.1:8080'], local: ['10.244.0.2:8080'] })
})

test('of an address in two slices the endpoint that is not terminating counts', () => {
  const [old, fresh] = [httpSlice(makeEndpoint('10.244.0.1', going)), httpSlice('10.244.0.1')]
  assert.deepEqual(chosen([old, fresh]).cluster, ['10.244.0.1:8080'])
  assert.deepEqual(chosen([fresh, old]).cluster, ['10.244.0.1:8080'])
})

test('a port of a slice is matched by name and protocol; one address may serve on several ports', () => {
  const ports = [
    ['http', 'TCP', 8080],
    ['http', 'UDP', 8081],
    ['other', 'TCP', 8082],
    ['http', 'TCP', 8083],
  ] as const
  assert.deepEqual(chosen([makeSlice('default/web', ports, ['10.244.0.1'])]).cluster, [
    '10.244.0.1:8080',
    '10.244.0.1:8083',
  ])
})

test('each family is planned with its own address and its own slices', () => {
  const dual = { ...web, clusterIps: [ip('10.96.0.10'), ip('fd00:10:96::10')] }
  const slices = [httpSlice('10.244.0.1'), httpSlice('fd00:10:244::1')]
  assert.deepEqual(chosen(slices, dual).cluster, ['10.244.0.1:8080'])
  const [ipv6] = planService(dual, slices, { ...node, family: 'IPv6' })
  assert.equal(ipv6?.clusterIp, 'fd00:10:96::10')
  assert.deepEqual(ipv6?.clusterEndpoints, [{ address: 'fd00:10:244::1', port: 8080 }])
  assert.deepEqual(planService(web, slices, { ...node, family: 'IPv6' }), [])
})

test('headless and ExternalName Services have no way in', () => {
  const slices = [httpSlice('10.244.0.1')]
  assert.deepEqual(planService({ ...web, headless: true, clusterIps: [] }, slices, node), [])
  assert.deepEqual(planService({ ...web, type: 'ExternalName', externalName: 'example.org' }, slices, node), [])
})

test('a frontend carries its name, port, node port and affinity', () => {
  const service = makeService('default/web', '10.96.0.10', {
    affinity: { timeoutSeconds: 60 },
    ports: [makePort('', 'UDP', 53, 30053), makePort('http', 'TCP', 80)],
  })
  const common = { clusterIp: '10.96.0.10', affinity: { timeoutSeconds: 60 }, clusterEndpoints: [], localEndpoints: [] }
  assert.deepEqual(planService(service, [], node), [
    { ...common, servicePort: 'default/web', protocol: 'UDP', port: 53, nodePort: 30053 },
    { ...common, servicePort: 'default/web:http', protocol: 'TCP', port: 80 },
  ])
})
