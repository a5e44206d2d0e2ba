import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { planEndpoints } from '../../../../src/controllers/endpoints/plan-endpoints.ts'
import { isMirrored, planMirror } from '../../../../src/controllers/endpoints/plan-mirror.ts'
import type { Endpoints } from '../../../../src/controllers/objects/endpoints.ts'
import type { Pod } from '../../../../src/controllers/objects/pod.ts'
import type { Service } from '../../../../src/controllers/objects/service.ts'
import { endpointsType } from '../../../../src/controllers/objects/types.ts'
import { kubernetes, metadataOf, podOf, serviceOf } from '../../../helpers/cluster-objects.ts'

function endpointsOf(subsets: readonly unknown[], metadata = {}): Endpoints {
  return endpointsType.schema.parse({ metadata: metadataOf('web', metadata), subsets })
}

function contentOf(service: Service, pods: readonly Pod[], existing?: Endpoints) {
  const plan = planEndpoints(service, pods, existing, kubernetes)
  assert.notEqual(plan.kind, 'none')
  return plan.kind === 'none' ? undefined : plan.content
}

function subsetTexts(service: Service, ...pods: Pod[]): readonly string[] | undefined {
  return contentOf(service, pods)?.subsets.map(({ addresses, notReadyAddresses, ports }) => {
    const ips = (list: readonly { readonly ip: string }[]) => list.map(({ ip }) => ip).join()
    return `${ips(addresses)} / ${ips(notReadyAddresses)} : ${ports.map(({ port }) => port).join()}`
  })
}

const deleted = { labels: { app: 'web' }, deletionTimestamp: '2026-01-01T00:00:00Z' }

describe('the Endpoints of a Service', () => {
  test('ready pods, others apart, deleted ones not', () => {
    const pods = [
      podOf('b', { ips: ['10.244.0.2'] }),
      podOf('a'),
      podOf('c', { ips: ['10.244.0.3'], ready: false }),
      podOf('d', { ips: ['10.244.0.4'], metadata: deleted }),
      podOf('e', { ips: ['10.244.0.5'], phase: 'Failed' }),
    ]
    assert.deepEqual(subsetTexts(serviceOf(), ...pods), ['10.244.0.1,10.244.0.2 / 10.244.0.3 : 80'])
    assert.deepEqual(subsetTexts(serviceOf({ publishNotReadyAddresses: true }), ...pods), [
      '10.244.0.1,10.244.0.2,10.244.0.3,10.244.0.4 /  : 80',
    ])
  })

  test('one subset for each set of resolved ports; a pod that serves none of them is left out', () => {
    const service = serviceOf({ ports: [{ name: 'http', port: 80, targetPort: 'http' }] })
    const other = podOf('b', {
      ips: ['10.244.0.2'],
      spec: { containers: [{ ports: [{ name: 'http', containerPort: 9090 }] }] },
    })
    const none = podOf('c', { ips: ['10.244.0.3'], spec: { containers: [] } })
    assert.deepEqual(subsetTexts(service, podOf('a'), other, none), ['10.244.0.1 /  : 8080', '10.244.0.2 /  : 9090'])
  })

  test('a headless Service without ports has a subset without ports', () => {
    assert.deepEqual(subsetTexts(serviceOf({ clusterIP: 'None', ports: [] }), podOf('a')), ['10.244.0.1 /  : '])
  })

  test('an address of the first family', () => {
    const pod = podOf('a', { ips: ['10.244.0.1', 'fd00::1'] })
    assert.deepEqual(subsetTexts(serviceOf({ ipFamilies: ['IPv6', 'IPv4'] }), pod), ['fd00::1 /  : 80'])
  })

  test('of more than 1000 addresses the first are kept, ready ones before others, and an annotation says so', () => {
    const pods = Array.from({ length: 1005 }, (_, index) =>
      podOf(`p${index}`, { ips: [`10.244.${index >> 8}.${index & 255}`], ready: index !== 0 }),
    )
    const content = contentOf(serviceOf(), pods)
    assert.equal(content?.subsets[0]?.addresses.length, 1000)
    assert.equal(content?.subsets[0]?.notReadyAddresses.length, 0)
    assert.equal(content?.annotations[kubernetes.annotations.overCapacity], 'truncated')
    const again = endpointsOf(content?.subsets ?? [], { labels: content?.labels, annotations: content?.annotations })
    assert.equal(planEndpoints(serviceOf(), pods, again, kubernetes).kind, 'none')
  })

  test('nothing is written where nothing changes; other annotations stay', () => {
    const existing = endpointsOf([], { annotations: { mine: 'kept' } })
    const content = contentOf(serviceOf(), [podOf('a')], existing)
    assert.equal(content?.annotations['mine'], 'kept')
    const written = endpointsOf(content?.subsets ?? [], { labels: content?.labels })
    assert.equal(planEndpoints(serviceOf(), [podOf('a')], written, kubernetes).kind, 'none')
  })
})

describe('mirroring of Endpoints', () => {
  const manual = serviceOf({ selector: undefined })
  const subset = { addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }

  test('only those that someone wrote for a Service without a selector', () => {
    const { skipMirror } = kubernetes.labels
    const { electionRecord } = kubernetes.annotations
    const mirrored = (service: Service | undefined, metadata = {}) =>
      isMirrored(endpointsOf([subset], metadata), service, kubernetes)
    assert.equal(mirrored(manual), true)
    assert.equal(mirrored(undefined), false)
    assert.equal(mirrored(serviceOf()), false)
    assert.equal(mirrored(manual, { labels: { [skipMirror]: 'true' } }), false)
    assert.equal(mirrored(manual, { labels: { [skipMirror]: 'no' } }), true)
    assert.equal(mirrored(manual, { annotations: { [electionRecord]: '{}' } }), false)
  })

  test('a slice for each subset and family, ready as the list says, labels and most annotations copied', () => {
    const endpoints = endpointsOf(
      [
        {
          addresses: [{ ip: '192.0.2.1' }, { ip: '2001:DB8::1' }, { ip: 'nonsense' }],
          notReadyAddresses: [{ ip: '192.0.2.2' }],
          ports: [{ port: 80 }],
        },
        { addresses: [{ ip: '192.0.2.3' }], ports: [{ name: 'https', port: 443 }] },
      ],
      {
        labels: { team: 'shop' },
        annotations: {
          note: 'kept',
          [kubernetes.annotations.lastChangeTriggerTime]: 'x',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
        },
      },
    )
    const { plan, template, invalidAddresses, skippedAddresses } = planMirror(endpoints, [], kubernetes)
    const texts = plan.creates.map(({ family, ports, endpoints: members }) => [
      family,
      ports[0]?.port,
      members.map(({ addresses, conditions }) => `${addresses[0]} ${conditions.ready}`).join(),
    ])
    assert.deepEqual(texts, [
      ['IPv4', 443, '192.0.2.3 true'],
      ['IPv4', 80, '192.0.2.1 true,192.0.2.2 false'],
      ['IPv6', 80, '2001:db8::1 true'],
    ])
    assert.deepEqual(template.annotations, { note: 'kept' })
    assert.equal(template.labels['team'], 'shop')
    assert.equal(template.labels[kubernetes.labels.managedBy], 'endpointslicemirroring-controller.k8s.io')
    assert.deepEqual([invalidAddresses, skippedAddresses], [['nonsense'], 0])
  })

  test('addresses whose targets were given the same uid are all there', () => {
    const targetRef = { kind: 'Pod', name: 'vm', uid: 'one' }
    const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((ip) => ({ ip, targetRef }))
    const { plan } = planMirror(endpointsOf([{ addresses, ports: [{ port: 80 }] }]), [], kubernetes)
    assert.deepEqual(
      plan.creates.flatMap(({ endpoints }) => endpoints.map((endpoint) => endpoint.addresses[0])),
      addresses.map(({ ip }) => ip),
    )
  })

  test('of a subset no more than 1000 addresses, in slices of 100', () => {
    const addresses = Array.from({ length: 1010 }, (_, index) => ({ ip: `10.1.${index >> 8}.${index & 255}` }))
    const { plan, skippedAddresses } = planMirror(endpointsOf([{ addresses, ports: [{ port: 80 }] }]), [], kubernetes)
    assert.deepEqual(
      plan.creates.map(({ endpoints }) => endpoints.length),
      Array(10).fill(100),
    )
    assert.equal(skippedAddresses, 10)
  })
})
