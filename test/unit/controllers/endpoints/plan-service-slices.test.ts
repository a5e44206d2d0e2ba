import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { planServiceSlices, serviceSliceTemplate } from '../../../../src/controllers/endpoints/plan-service-slices.ts'
import type { Pod } from '../../../../src/controllers/objects/pod.ts'
import type { Service } from '../../../../src/controllers/objects/service.ts'
import { kubernetes, nodeOf, podOf, serviceOf } from '../../../helpers/cluster-objects.ts'

const nodes = new Map([
  ['n1', nodeOf('n1', 'east')],
  ['n2', nodeOf('n2', 'west')],
])

function contentsOf(service: Service, ...pods: Pod[]) {
  return planServiceSlices({ service, pods, nodeOf: (name) => nodes.get(name), slices: [], dialect: kubernetes })
    .creates
}

function firstEndpoint(service: Service, pod: Pod) {
  return contentsOf(service, pod)[0]?.endpoints[0]
}

function portsOf(service: Service, ...pods: Pod[]) {
  return contentsOf(service, ...pods).map(({ ports, endpoints }) => [
    ports.map(({ name, port }) => `${name}=${port}`).join(),
    endpoints.length,
  ])
}

const deleted = { labels: { app: 'web' }, deletionTimestamp: '2026-01-01T00:00:00Z' }

describe('the slices of a Service', () => {
  test('conditions: ready needs a pod that is ready and stays, serving only one that is ready', () => {
    const conditions = (pod: Pod, spec = {}) => {
      const { ready, serving, terminating } = firstEndpoint(serviceOf(spec), pod)?.conditions ?? {}
      return [ready, serving, terminating]
    }
    assert.deepEqual(conditions(podOf('a')), [true, true, false])
    assert.deepEqual(conditions(podOf('a', { ready: false })), [false, false, false])
    assert.deepEqual(conditions(podOf('a', { metadata: deleted })), [false, true, true])
    assert.deepEqual(conditions(podOf('a', { metadata: deleted, ready: false })), [false, false, true])
    assert.deepEqual(conditions(podOf('a', { metadata: deleted, ready: false }), { publishNotReadyAddresses: true }), [
      true,
      false,
      true,
    ])
  })

  test('pods that ended or have no address are not in', () => {
    const pods = [podOf('a', { phase: 'Succeeded' }), podOf('b', { phase: 'Failed' }), podOf('c', { ips: [] })]
    assert.deepEqual(portsOf(serviceOf(), ...pods), [['', 0]])
  })

  test('pods are grouped by what their named ports resolve to', () => {
    const service = serviceOf({ ports: [{ name: 'http', port: 80, targetPort: 'http' }] })
    const other = podOf('b', {
      ips: ['10.244.0.2'],
      spec: { containers: [{ ports: [{ name: 'http', containerPort: 9090 }] }] },
    })
    const none = podOf('c', { ips: ['10.244.0.3'], spec: { containers: [] } })
    assert.deepEqual(portsOf(service, podOf('a'), other, none), [
      ['', 1],
      ['http=8080', 1],
      ['http=9090', 1],
    ])
  })

  test('a named port must have the protocol, and restartable init containers count', () => {
    const spec = {
      containers: [{ ports: [{ name: 'dns', containerPort: 1, protocol: 'TCP' }] }],
      initContainers: [
        { ports: [{ name: 'dns', containerPort: 2, protocol: 'UDP' }] },
        { restartPolicy: 'Always', ports: [{ name: 'dns', containerPort: 53, protocol: 'UDP' }] },
      ],
    }
    const service = serviceOf({ ports: [{ name: 'dns', port: 53, targetPort: 'dns', protocol: 'UDP' }] })
    assert.deepEqual(portsOf(service, podOf('a', { spec })), [['dns=53', 1]])
  })

  test('the name of a port is always there, also where the Service gives none', () => {
    assert.equal(contentsOf(serviceOf({ ports: [{ port: 80 }] }), podOf('a'))[0]?.ports[0]?.name, '')
  })

  test('both families get slices of their own, and a placeholder each where nothing is selected', () => {
    const service = serviceOf({ ipFamilies: ['IPv4', 'IPv6'] })
    const families = (...pods: Pod[]) =>
      contentsOf(service, ...pods).map(({ family, endpoints }) => [family, endpoints[0]?.addresses[0]])
    assert.deepEqual(families(podOf('a', { ips: ['10.244.0.1', 'FD00::1'] })), [
      ['IPv4', '10.244.0.1'],
      ['IPv6', 'fd00::1'],
    ])
    assert.deepEqual(families(), [
      ['IPv4', undefined],
      ['IPv6', undefined],
    ])
  })

  test('zone and node name come from the node; a pod on a node that is not known waits unless all are published', () => {
    const endpoint = firstEndpoint(serviceOf(), podOf('a', { spec: { nodeName: 'n1' } }))
    assert.deepEqual([endpoint?.nodeName, endpoint?.zone], ['n1', 'east'])
    const lost = podOf('a', { spec: { nodeName: 'gone' } })
    assert.equal(firstEndpoint(serviceOf(), lost), undefined)
    assert.equal(firstEndpoint(serviceOf({ publishNotReadyAddresses: true }), lost)?.nodeName, 'gone')
  })

  test('a pod has a hostname where its subdomain is the Service', () => {
    const hostname = (subdomain: string) =>
      firstEndpoint(serviceOf(), podOf('a', { spec: { hostname: 'a-0', subdomain } }))?.hostname
    assert.deepEqual([hostname('web'), hostname('other')], ['a-0', undefined])
  })

  test('hints follow trafficDistribution, for ready endpoints only', () => {
    const hints = (trafficDistribution: string, ready = true) =>
      firstEndpoint(serviceOf({ trafficDistribution }), podOf('a', { ready, spec: { nodeName: 'n2' } }))?.hints
    assert.deepEqual(hints('PreferClose'), { forZones: [{ name: 'west' }] })
    assert.deepEqual(hints('PreferSameZone'), { forZones: [{ name: 'west' }] })
    assert.deepEqual(hints('PreferSameNode'), { forZones: [{ name: 'west' }], forNodes: [{ name: 'n2' }] })
    assert.equal(hints('PreferClose', false), undefined)
    assert.equal(hints('Whatever'), undefined)
  })

  test('a slice carries the labels of its Service and ours, never a reserved one of the Service', () => {
    const service = serviceOf(
      { clusterIP: 'None' },
      { labels: { team: 'shop', [kubernetes.labels.managedBy]: 'me', [kubernetes.labels.serviceName]: 'other' } },
    )
    const template = serviceSliceTemplate(service, undefined, kubernetes)
    assert.deepEqual(template.labels, {
      team: 'shop',
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      'service.kubernetes.io/headless': '',
    })
    assert.deepEqual(template.owner, {
      apiVersion: 'v1',
      kind: 'Service',
      name: 'web',
      uid: 'uid-web',
      controller: true,
      blockOwnerDeletion: true,
    })
  })
})
