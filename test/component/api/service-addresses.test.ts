import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ipOf } from '../../helpers/addresses.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { paths, service } from '../../helpers/manifests.ts'

const headers = { 'content-type': 'application/merge-patch+json' }
const cidrs = '/apis/networking.k8s.io/v1/servicecidrs'
const addresses = '/apis/networking.k8s.io/v1/ipaddresses'

describe('addresses of Services', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
    const body = { metadata: { name: 'six' }, spec: { cidrs: ['fd00:10::/112'] } }
    assert.equal((await server.call('POST', cidrs, { body })).code, 201)
  })
  after(() => server.stop())

  const create = (name: string, spec?: Record<string, unknown>) =>
    server.call('POST', paths.services, { body: service(name, spec) })
  const patch = (name: string, spec: Record<string, unknown>) =>
    server.call('PATCH', `${paths.services}/${name}`, { body: { spec }, headers })
  const lockOf = (address: string) => server.call('GET', `${addresses}/${address}`)

  test('an address is held by an IPAddress object, which comes and goes with the Service', async () => {
    const { body } = await create('locked', { clusterIP: '10.96.0.33' })
    const lock = (await lockOf('10.96.0.33')).body
    assert.deepEqual(lock.metadata.labels, {
      'ipaddress.kubernetes.io/ip-family': 'IPv4',
      'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
    })
    assert.deepEqual(lock.spec.parentRef, { group: '', resource: 'services', namespace: 'default', name: 'locked' })
    assert.equal(lock.metadata.resourceVersion, body.metadata.resourceVersion, 'written in one commit')
    const refused = await server.call('DELETE', `${addresses}/10.96.0.33`)
    assert.equal(
      refused.body.message,
      'ipaddresses.networking.k8s.io "10.96.0.33" is forbidden: Service default/locked has this address',
    )
    await server.call('DELETE', `${paths.services}/locked`)
    assert.equal((await lockOf('10.96.0.33')).code, 404)
  })

  test('an address that a user holds is not given to a Service, and the other way round', async () => {
    const parentRef = { group: 'example.com', resource: 'boxes', name: 'b' }
    const claim = (name: string) =>
      server.call('POST', addresses, { body: { metadata: { name }, spec: { parentRef } } })
    assert.equal((await claim('10.96.0.44')).code, 201)
    assert.match((await create('late', { clusterIP: '10.96.0.44' })).body.message, /provided IP is already allocated/)
    await create('first', { clusterIP: '10.96.0.45' })
    assert.equal((await claim('10.96.0.45')).body.reason, 'AlreadyExists')
  })

  test('two families give two addresses, in the order asked for', async () => {
    const both = await create('both', { ipFamilyPolicy: 'RequireDualStack' })
    assert.deepEqual(both.body.spec.ipFamilies, ['IPv4', 'IPv6'])
    assert.match(both.body.spec.clusterIPs.join(), /^10\.\d+\.\d+\.\d+,fd00:10::[0-9a-f]+$/)
    assert.equal(both.body.spec.clusterIP, both.body.spec.clusterIPs[0])
    const turned = await create('turned', { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6'] })
    assert.deepEqual(turned.body.spec.ipFamilies, ['IPv6', 'IPv4'])
    const inferred = await create('inferred', { clusterIP: 'fd00:10::5' })
    assert.deepEqual([inferred.body.spec.ipFamilies, inferred.body.spec.ipFamilyPolicy], [['IPv6'], 'SingleStack'])
  })

  test('the second address comes with the policy and goes with it', async () => {
    const one = await create('growing')
    const [first] = one.body.spec.clusterIPs
    const two = await patch('growing', { ipFamilyPolicy: 'PreferDualStack' })
    assert.equal(two.body.spec.clusterIPs.length, 2)
    assert.equal(two.body.spec.clusterIPs[0], first)
    const second = two.body.spec.clusterIPs[1]
    assert.equal((await lockOf(second)).code, 200)
    const same = await patch('growing', { selector: { a: 'b' } })
    assert.deepEqual(same.body.spec.clusterIPs, [first, second])
    const back = await patch('growing', { ipFamilyPolicy: 'SingleStack' })
    assert.deepEqual([back.body.spec.clusterIPs, back.body.spec.ipFamilies], [[first], ['IPv4']])
    assert.equal((await lockOf(second)).code, 404)
  })

  test('what cannot be is refused in the words of Kubernetes', async () => {
    await create('pair', { ipFamilyPolicy: 'RequireDualStack' })
    const table: readonly (readonly [spec: Record<string, unknown>, message: RegExp])[] = [
      [
        { ipFamilies: ['IPv4', 'IPv6'] },
        /spec\.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified/,
      ],
      [{ ipFamilies: ['IPv4', 'IPv4'] }, /spec\.ipFamilies\[1\]: Duplicate value: "IPv4"/],
      [{ ipFamilies: ['IPv5'] }, /spec\.ipFamilies\[0\]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"/],
      [
        { clusterIP: '10.96.0.60', ipFamilies: ['IPv6'] },
        /spec\.clusterIPs\[0\]: Invalid value: "10\.96\.0\.60": expected an IPv6 value as indicated by `ipFamilies\[0\]`/,
      ],
      [
        { clusterIPs: ['10.96.0.60', '10.96.0.61'], ipFamilyPolicy: 'PreferDualStack' },
        /may specify no more than one IP for each IP family/,
      ],
      [
        { type: 'ExternalName', externalName: 'example.com', ipFamilies: ['IPv4'] },
        /spec\.ipFamilies: Forbidden: may not be set for ExternalName services/,
      ],
      [
        { healthCheckNodePort: 30100 },
        /spec\.healthCheckNodePort: Invalid value: 30100: may only be set when `type` is 'LoadBalancer'/,
      ],
    ]
    for (const [spec, message] of table) {
      const reply = await create('bad', spec)
      assert.equal(reply.code, 422, JSON.stringify(spec))
      assert.match(reply.body.message, message)
    }
    const released = await patch('pair', { ipFamilies: ['IPv4'] })
    assert.match(released.body.message, /must be 'SingleStack' to release the secondary IP family/)
    const swapped = await patch('pair', { ipFamilies: ['IPv6', 'IPv4'] })
    assert.match(swapped.body.message, /expected an IPv6 value as indicated by `ipFamilies\[0\]`/)
  })

  test('a headless Service without a selector may name families that the cluster lacks', async () => {
    await using single = await startTestServer()
    const headless = { clusterIP: 'None', ipFamilyPolicy: 'RequireDualStack' }
    const made = await single.call('POST', paths.services, { body: service('free', headless) })
    assert.deepEqual(made.body.spec.ipFamilies, ['IPv4', 'IPv6'])
    const bound = await single.call('POST', paths.services, {
      body: service('bound', { ...headless, selector: { a: 'b' } }),
    })
    assert.match(bound.body.message, /this cluster is not configured for dual-stack services/)
  })

  test('the health check port is allocated for Local load balancers only, stays, and is given back', async () => {
    const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }
    const made = await create('balanced', local)
    const port = made.body.spec.healthCheckNodePort
    assert.ok(port >= 30086 && port <= 32767)
    assert.notEqual(port, made.body.spec.ports[0].nodePort)
    const moved = await patch('balanced', { healthCheckNodePort: port === 32000 ? 32001 : 32000 })
    assert.match(moved.body.message, /spec\.healthCheckNodePort: Forbidden: field is immutable/)
    const taken = await create('rival', { type: 'NodePort', ports: [{ port: 80, nodePort: port }] })
    assert.match(
      taken.body.message,
      /spec\.ports\[0\]\.nodePort: Invalid value: \d+: provided port is already allocated/,
    )
    const cluster = await patch('balanced', { externalTrafficPolicy: 'Cluster' })
    assert.equal(cluster.body.spec.healthCheckNodePort, undefined)
    assert.equal((await create('rival', { type: 'NodePort', ports: [{ port: 80, nodePort: port }] })).code, 201)
  })

  test('a further ServiceCIDR serves explicit addresses, and stays while it is needed', async () => {
    await server.call('POST', cidrs, { body: { metadata: { name: 'more' }, spec: { cidrs: ['192.0.2.0/28'] } } })
    assert.equal((await create('elsewhere', { clusterIP: '192.0.2.5' })).code, 201)
    const refused = await server.call('DELETE', `${cidrs}/more`)
    assert.equal(refused.code, 403)
    assert.match(refused.body.message, /IPAddress 192\.0\.2\.5 is only in its ranges/)
    await server.call('DELETE', `${paths.services}/elsewhere`)
    assert.equal((await server.call('DELETE', `${cidrs}/more`)).code, 200)
    const outside = await create('elsewhere', { clusterIP: '192.0.2.5' })
    assert.match(outside.body.message, /The range of valid IPs is 10\.96\.0\.0\/12$/)
  })

  test('a range that is not ready gives no address', async () => {
    await server.call('POST', cidrs, { body: { metadata: { name: 'broken' }, spec: { cidrs: ['198.51.100.0/28'] } } })
    const body = { status: { conditions: [{ type: 'Ready', status: 'False' }] } }
    assert.equal((await server.call('PATCH', `${cidrs}/broken/status`, { body, headers })).code, 200)
    assert.match((await create('unlucky', { clusterIP: '198.51.100.5' })).body.message, /is not in the valid range/)
  })

  test('a dry run holds nothing', async () => {
    const body = service('dry', { clusterIP: '10.96.0.70' })
    assert.equal((await server.call('POST', `${paths.services}?dryRun=All`, { body })).code, 201)
    assert.equal((await lockOf('10.96.0.70')).code, 404)
  })
})

test('a full range goes on into the next one', async () => {
  await using server = await startTestServer({ serviceCidr: '10.99.0.0/30' })
  await server.call('POST', cidrs, { body: { metadata: { name: 'more' }, spec: { cidrs: ['10.99.1.0/30'] } } })
  const create = async (name: string) =>
    (await server.call('POST', paths.services, { body: service(name) })).body.spec.clusterIP
  assert.equal(await create('a'), '10.99.0.2')
  assert.match(await create('b'), /^10\.99\.1\.[12]$/)
})

test('the kubernetes Service leads to the server', async () => {
  await using server = await startTestServer({ advertiseAddress: ipOf('192.0.2.10') })
  const endpoints = await server.call('GET', '/api/v1/namespaces/default/endpoints/kubernetes')
  const port = { name: 'https', port: server.port, protocol: 'TCP' }
  assert.deepEqual(endpoints.body.subsets, [{ addresses: [{ ip: '192.0.2.10' }], ports: [port] }])
  const { body: slice } = await server.call('GET', `${paths.endpointSlices}/kubernetes`)
  assert.deepEqual(slice.endpoints, [{ addresses: ['192.0.2.10'], conditions: { ready: true } }])
  assert.equal(slice.metadata.labels['kubernetes.io/service-name'], 'kubernetes')
  const names = (await server.call('GET', '/api/v1/namespaces')).body.items.map(
    ({ metadata }: { metadata: { name: string } }) => metadata.name,
  )
  assert.deepEqual(names, ['default', 'kube-node-lease', 'kube-public', 'kube-system'])
})
