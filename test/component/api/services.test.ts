import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openMemoryStore } from '../../../src/api/store/index.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { paths, service } from '../../helpers/manifests.ts'

const mergePatch = { 'content-type': 'application/merge-patch+json' }

describe('Services', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const create = (name: string, spec?: Record<string, unknown>) =>
    server.call('POST', paths.services, { body: service(name, spec) })
  const patch = (name: string, spec: Record<string, unknown>) =>
    server.call('PATCH', `${paths.services}/${name}`, { body: { spec }, headers: mergePatch })

  test('a plain Service gets its defaults and an address of the dynamic band', async () => {
    const { code, body } = await create('plain', { selector: { app: 'web' } })
    assert.equal(code, 201)
    const { clusterIP, clusterIPs, ...spec } = body.spec
    assert.deepEqual(spec, {
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      selector: { app: 'web' },
      type: 'ClusterIP',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
    })
    assert.deepEqual(clusterIPs, [clusterIP])
    const [first, second, third, last] = clusterIP.split('.').map(Number)
    assert.equal(first, 10)
    assert.ok(second >= 96 && second <= 111)
    assert.ok(second > 96 || third > 0 || last > 255, 'the first 256 addresses are the static band')
    assert.deepEqual(body.status, { loadBalancer: {} })
  })

  test('client affinity gets its default time', async () => {
    const { body } = await create('sticky', { sessionAffinity: 'ClientIP' })
    assert.deepEqual(body.spec.sessionAffinityConfig, { clientIP: { timeoutSeconds: 10800 } })
  })

  test('an explicit address is honoured once, then refused in the words of Kubernetes', async () => {
    const first = await create('dns', { clusterIP: '10.96.0.10' })
    assert.equal(first.body.spec.clusterIP, '10.96.0.10')
    const second = await create('dns-2', { clusterIP: '10.96.0.10' })
    assert.equal(second.code, 422)
    assert.equal(
      second.body.message,
      'Service "dns-2" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated',
    )
    const outside = await create('outside', { clusterIP: '192.0.2.1' })
    assert.equal(
      outside.body.message,
      'Service "outside" is invalid: spec.clusterIPs: Invalid value: ["192.0.2.1"]: failed to allocate IP 192.0.2.1: the provided IP (192.0.2.1) is not in the valid range. The range of valid IPs is 10.96.0.0/12',
    )
    const taken = await create('taken', { clusterIP: '10.96.0.1' })
    assert.match(taken.body.message, /provided IP is already allocated/)
  })

  test('a deleted Service gives its address and ports back', async () => {
    const spec = { type: 'NodePort', clusterIP: '10.96.0.20', ports: [{ port: 80, nodePort: 30020 }] }
    await create('brief', spec)
    await server.call('DELETE', `${paths.services}/brief`)
    assert.equal((await create('brief-2', spec)).code, 201)
  })

  test('node ports are honoured, chosen, and refused in the words of Kubernetes', async () => {
    const chosen = await create('np', { type: 'NodePort' })
    const { nodePort } = chosen.body.spec.ports[0]
    assert.ok(nodePort >= 30086 && nodePort <= 32767, `${nodePort} is in the dynamic band`)
    assert.equal(chosen.body.spec.externalTrafficPolicy, 'Cluster')
    const taken = await create('np-2', { type: 'NodePort', ports: [{ port: 80, nodePort }] })
    assert.equal(
      taken.body.message,
      `Service "np-2" is invalid: spec.ports[0].nodePort: Invalid value: ${nodePort}: provided port is already allocated`,
    )
    const outside = await create('np-3', { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] })
    assert.equal(
      outside.body.message,
      'Service "np-3" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    )
    const wrongType = await create('np-4', { ports: [{ port: 80, nodePort: 30081 }] })
    assert.match(
      wrongType.body.message,
      /spec\.ports\[0\]\.nodePort: Forbidden: may not be used when `type` is 'ClusterIP'/,
    )
  })

  test('one port number on two protocols shares its node port', async () => {
    const ports = [
      { name: 'tcp', port: 53, protocol: 'TCP' },
      { name: 'udp', port: 53, protocol: 'UDP' },
    ]
    const { body } = await create('two-protocols', { type: 'NodePort', ports })
    assert.equal(body.spec.ports[0].nodePort, body.spec.ports[1].nodePort)
  })

  test('a port that keeps its name keeps its node port, whatever number it has', async () => {
    const ports = (first: number, second: number) => [
      { name: 'a', port: first },
      { name: 'b', port: second },
    ]
    const made = await create('named', { type: 'NodePort', ports: ports(80, 81) })
    const body = { ...made.body, spec: { type: 'NodePort', ports: ports(81, 80) } }
    const put = await server.call('PUT', `${paths.services}/named`, { body })
    const nodePortsOf = (reply: typeof put) => reply.body.spec.ports.map((port: { nodePort: number }) => port.nodePort)
    assert.deepEqual(nodePortsOf(put), nodePortsOf(made), put.text)
  })

  test('a refused create holds nothing', async () => {
    const ports = [
      { name: 'a', port: 80, nodePort: 30050 },
      { name: 'b', port: 81, nodePort: 1 },
    ]
    assert.equal((await create('half', { type: 'NodePort', clusterIP: '10.96.0.50', ports })).code, 422)
    const good = await create('whole', { type: 'NodePort', clusterIP: '10.96.0.50', ports: ports.slice(0, 1) })
    assert.equal(good.code, 201)
  })

  test('headless and ExternalName Services get no address', async () => {
    const headless = await create('headless', { clusterIP: 'None', ports: [] })
    assert.deepEqual([headless.body.spec.clusterIP, headless.body.spec.clusterIPs], ['None', ['None']])
    const external = await server.call('POST', paths.services, {
      body: { metadata: { name: 'external' }, spec: { type: 'ExternalName', externalName: 'example.com' } },
    })
    assert.equal(external.code, 201)
    assert.equal(external.body.spec.clusterIP, undefined)
    assert.equal(external.body.spec.ipFamilies, undefined)
  })

  test('a change of type allocates and releases', async () => {
    const created = await create('changing', { clusterIP: '10.96.0.30' })
    const nodePort = await patch('changing', { type: 'NodePort' })
    assert.equal(nodePort.code, 200)
    const port = nodePort.body.spec.ports[0].nodePort
    assert.ok(port >= 30000)
    assert.equal(nodePort.body.spec.clusterIP, created.body.spec.clusterIP)
    const back = await patch('changing', { type: 'ClusterIP' })
    assert.equal(back.code, 200)
    assert.equal(back.body.spec.ports[0].nodePort, undefined)
    assert.equal(back.body.spec.externalTrafficPolicy, undefined)
    const other = await create('takes-port', { type: 'NodePort', ports: [{ port: 80, nodePort: port }] })
    assert.equal(other.code, 201)
    const external = await patch('changing', { type: 'ExternalName', externalName: 'example.com', clusterIP: null })
    assert.equal(external.code, 200)
    assert.equal((await create('takes-ip', { clusterIP: '10.96.0.30' })).code, 201)
  })

  test('a manifest put again keeps address and node port, without a new revision', async () => {
    const body = service('again', { type: 'NodePort' })
    const created = await server.call('POST', paths.services, { body })
    const put = await server.call('PUT', `${paths.services}/again`, { body })
    assert.deepEqual(put.body, created.body)
  })

  test('the traffic policy that was chosen for external addresses goes with them', async () => {
    const spec = { ports: [{ port: 80 }], externalIPs: ['192.0.2.1'] }
    const { body } = await server.call('POST', paths.services, { body: { metadata: { name: 'outside' }, spec } })
    assert.equal(body.spec.externalTrafficPolicy, 'Cluster')
    const reply = await server.call('PATCH', `${paths.services}/outside`, {
      body: { spec: { externalIPs: null } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    assert.deepEqual([reply.code, reply.body.spec?.externalTrafficPolicy], [200, undefined], reply.text)
  })

  test('the address of a Service cannot be changed', async () => {
    await create('fixed', { clusterIP: '10.96.0.40' })
    const reply = await patch('fixed', { clusterIP: '10.96.0.41', clusterIPs: ['10.96.0.41'] })
    assert.equal(reply.code, 422)
    assert.equal(
      reply.body.message,
      'Service "fixed" is invalid: spec.clusterIPs[0]: Invalid value: ["10.96.0.41"]: may not change once set',
    )
  })

  test('every bad field is named, all in one answer', async () => {
    const table: readonly (readonly [spec: Record<string, unknown>, message: RegExp])[] = [
      [{ ports: [] }, /spec\.ports: Required value$/],
      [
        { type: 'Odd' },
        /spec\.type: Unsupported value: "Odd": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"/,
      ],
      [{ ports: [{ port: 0 }] }, /spec\.ports\[0\]\.port: Invalid value: 0: must be between 1 and 65535, inclusive/],
      [
        { ports: [{ port: 80, protocol: 'ICMP' }] },
        /protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"/,
      ],
      [
        { ports: [{ port: 80, targetPort: 70000 }] },
        /spec\.ports\[0\]\.targetPort: Invalid value: 70000: must be between/,
      ],
      [
        { ports: [{ port: 80, targetPort: 'no--good' }] },
        /targetPort: Invalid value: "no--good": must not contain consecutive hyphens/,
      ],
      [
        { ports: [{ port: 80 }, { port: 81 }] },
        /\[spec\.ports\[0\]\.name: Required value, spec\.ports\[1\]\.name: Required value\]/,
      ],
      [
        {
          ports: [
            { name: 'a', port: 80 },
            { name: 'a', port: 81 },
          ],
        },
        /spec\.ports\[1\]\.name: Duplicate value: "a"/,
      ],
      [
        {
          ports: [
            { name: 'a', port: 80 },
            { name: 'b', port: 80 },
          ],
        },
        /spec\.ports\[1\]: Duplicate value: \{"port":80,"protocol":"TCP"\}/,
      ],
      [
        { sessionAffinity: 'Cookie' },
        /spec\.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"/,
      ],
      [
        { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 86401 } } },
        /must be greater than 0 and less than 86400/,
      ],
      [{ clusterIP: 'x' }, /spec\.clusterIPs\[0\]: Invalid value: "x": must be a valid IP address/],
      [{ clusterIP: 'None', type: 'NodePort' }, /may not be set to 'None' for NodePort services/],
      [
        { externalIPs: ['300.1.1.1'] },
        /spec\.externalIPs\[0\]: Invalid value: "300\.1\.1\.1": must be a valid IP address/,
      ],
      [
        { externalTrafficPolicy: 'Local' },
        /externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services/,
      ],
      [
        { internalTrafficPolicy: 'Far' },
        /internalTrafficPolicy: Unsupported value: "Far": supported values: "Cluster", "Local"/,
      ],
      [
        { ipFamilyPolicy: 'RequireDualStack' },
        /ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services/,
      ],
      [{ ipFamilies: ['IPv6'] }, /spec\.ipFamilies\[0\]: Invalid value: "IPv6": not configured on this cluster/],
      [{ type: 'ExternalName', ports: [] }, /spec\.externalName: Required value/],
      [{ selector: { 'bad key': 'x' } }, /spec\.selector: Invalid value: "bad key": name part must consist/],
      [
        { loadBalancerSourceRanges: ['10.0.0.0/8'] },
        /LoadBalancerSourceRanges: Forbidden: may only be used when `type` is/,
      ],
      [
        { type: 'LoadBalancer', loadBalancerSourceRanges: ['x'] },
        /LoadBalancerSourceRanges\[0\]: Invalid value: "x": must be a valid CIDR value/,
      ],
      [{ loadBalancerClass: 'a.example/b' }, /loadBalancerClass: Forbidden: may only be used when `type` is/],
      [
        { trafficDistribution: 'Near' },
        /trafficDistribution: Unsupported value: "Near": supported values: "PreferClose"/,
      ],
      [
        { externalIPs: ['127.0.0.1'] },
        /externalIPs\[0\]: Invalid value: "127\.0\.0\.1": may not be in the loopback range/,
      ],
      [{ ports: [{ port: 80, appProtocol: 'a b' }] }, /ports\[0\]\.appProtocol: Invalid value: "a b": name part must/],
    ]
    for (const [spec, message] of table) {
      const reply = await create('bad', spec)
      assert.equal(reply.code, 422, JSON.stringify(spec))
      assert.match(reply.body.message, message)
    }
    assert.match(
      (await create('1st')).body.message,
      /metadata\.name: Invalid value: "1st": a DNS-1035 label must consist/,
    )
  })

  test('a field of another type is a 400 that names it', async () => {
    const reply = await create('typed', { ports: [{ port: '80' }], selector: ['x'] })
    assert.equal(reply.code, 400)
    assert.equal(
      reply.body.message,
      'Service in version "v1" cannot be handled as a Service: spec.ports[0].port: expected integer, found string, spec.selector: expected object, found array',
    )
  })
})

test('a range that is used up answers a 500 that says so, and an address given back serves again', async () => {
  await using server = await startTestServer({ serviceCidr: '10.99.0.0/29' })
  const create = (name: string) => server.call('POST', paths.services, { body: service(name) })
  const made = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(create))
  const addresses = made.filter(({ code }) => code === 201).map(({ body }) => body.spec.clusterIP)
  assert.equal(addresses.length, 5, 'six usable addresses, one of them the kubernetes Service')
  assert.equal(new Set(addresses).size, 5)
  const full = await create('g')
  assert.equal(full.code, 500)
  assert.equal(full.body.message, 'Internal error occurred: failed to allocate a serviceIP: range is full')
  const name = made.find(({ code }) => code === 201)?.body.metadata.name
  await server.call('DELETE', `${paths.services}/${name}`)
  assert.equal((await create('h')).code, 201)
})

test('of a range for each family the first is that of a Service that asks for none', async () => {
  await using server = await startTestServer({ serviceCidr: 'fd00:10::/112,10.99.0.0/24' })
  const familiesOf = async (spec: object) => {
    const body = { metadata: { generateName: 's-' }, spec: { ports: [{ port: 80 }], ...spec } }
    return (await server.call('POST', paths.services, { body })).body.spec.ipFamilies
  }
  assert.deepEqual(await familiesOf({}), ['IPv6'])
  assert.deepEqual(await familiesOf({ ipFamilies: ['IPv4'] }), ['IPv4'])
  assert.deepEqual(await familiesOf({ ipFamilyPolicy: 'PreferDualStack' }), ['IPv6', 'IPv4'])
  const kubernetes = await server.call('GET', `${paths.services}/kubernetes`)
  assert.deepEqual(kubernetes.body.spec.clusterIPs, ['fd00:10::1'])
})

test('a second family that comes later is added to the ServiceCIDR, and nothing else is changed in it', async () => {
  const store = openMemoryStore({ log: silentLogger })
  const ranges = async (serviceCidr: string) => {
    const server = await startTestServer({ store, serviceCidr, keepsStore: true })
    const list = await server.call('GET', '/apis/networking.k8s.io/v1/servicecidrs')
    await server.stop()
    return list.body.items.map(({ spec }: { spec: { cidrs: readonly string[] } }) => spec.cidrs)
  }
  assert.deepEqual(await ranges('10.99.0.0/24'), [['10.99.0.0/24']])
  assert.deepEqual(await ranges('10.98.0.0/24,fd00:9::/112'), [['10.99.0.0/24']])
  assert.deepEqual(await ranges('10.99.0.0/24,fd00:10::/112'), [['10.99.0.0/24', 'fd00:10::/112']])
  assert.deepEqual(await ranges('10.99.0.0/24'), [['10.99.0.0/24', 'fd00:10::/112']])
  await store.close()
})

test('an IPv6 range works the same', async () => {
  await using server = await startTestServer({ serviceCidr: 'fd00:10::/112' })
  const { body } = await server.call('POST', paths.services, { body: service('six') })
  assert.match(body.spec.clusterIP, /^fd00:10::[0-9a-f]+$/)
  assert.deepEqual(body.spec.ipFamilies, ['IPv6'])
})
