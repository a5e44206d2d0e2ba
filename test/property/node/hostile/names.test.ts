import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Ip } from '../../../../src/model/ip.ts'
import { planPodResolver } from '../../../../src/model/pod-resolver.ts'
import { lowerService } from '../../../../src/netfilter/lower-service.ts'
import { ProxyRuleset } from '../../../../src/netfilter/proxy-ruleset.ts'
import type { ProxyRuleSettings } from '../../../../src/netfilter/settings.ts'
import { recordType } from '../../../../src/node/dns/wire/codes.ts'
import { planFrontends } from '../../../../src/node/proxy/plan.ts'
import { parseEndpointSlice } from '../../../../src/node/state/parse-endpoint-slice.ts'
import { parseService } from '../../../../src/node/state/parse-service.ts'
import { hostileText } from '../../../helpers/arbitrary-rules.ts'
import { TestZone } from '../../../helpers/dns-zone.ts'
import { renderRestore } from '../../../helpers/rulesets.ts'
import { cidr } from '../../../helpers/services.ts'
import { dialect } from '../../../helpers/wire-objects.ts'

const settings: ProxyRuleSettings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } }

/** A sound text, or a hostile one in its place. */
function either(sound: string): fc.Arbitrary<string> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(sound) }, { weight: 1, arbitrary: hostileText })
}

const anyService = fc.record({
  name: either('web'),
  namespace: either('default'),
  portName: either('http'),
  protocol: either('TCP'),
  clusterIp: either('10.96.0.10'),
  externalIp: either('192.0.2.10'),
  sourceRange: either('192.0.2.0/24'),
  affinity: either('ClientIP'),
  policy: either('Local'),
})

type ServiceShape = typeof anyService extends fc.Arbitrary<infer Shape> ? Shape : never

function wireServiceOf(shape: ServiceShape): unknown {
  return {
    metadata: { name: shape.name, namespace: shape.namespace, resourceVersion: '1' },
    spec: {
      type: 'LoadBalancer',
      clusterIP: shape.clusterIp,
      externalIPs: [shape.externalIp],
      loadBalancerSourceRanges: [shape.sourceRange],
      sessionAffinity: shape.affinity,
      externalTrafficPolicy: shape.policy,
      ports: [{ name: shape.portName, protocol: shape.protocol, port: 80 }],
    },
    status: { loadBalancer: { ingress: [{ ip: shape.externalIp }] } },
  }
}

const anyEndpoint = fc.record({
  address: either('10.244.0.5'),
  hostname: either('h'),
  nodeName: either('node-1'),
  target: either('web-1'),
  portName: either('http'),
})

type EndpointShape = typeof anyEndpoint extends fc.Arbitrary<infer Shape> ? Shape : never

function wireSliceOf(service: Pick<ServiceShape, 'name' | 'namespace'>, endpoint: EndpointShape): unknown {
  return {
    metadata: {
      name: 'slice',
      namespace: service.namespace,
      resourceVersion: '1',
      labels: { [dialect.labels.serviceName]: service.name },
    },
    addressType: 'IPv4',
    ports: [{ name: endpoint.portName, protocol: 'TCP', port: 8080 }],
    endpoints: [
      {
        addresses: [endpoint.address],
        hostname: endpoint.hostname,
        nodeName: endpoint.nodeName,
        targetRef: { kind: 'Pod', namespace: service.namespace, name: endpoint.target },
      },
    ],
  }
}

/** What a line of iptables-restore may be: its words hold nothing that a shell, a quote or another line could make use of. */
const ruleLine =
  /^(\*(nat|filter)|:PLAT-[A-Z0-9-]+ - \[0:0\]|-[ADFX] [A-Z0-9-]+( ([A-Za-z0-9_./:,=+-]+|!|"[A-Za-z0-9_ ./:;%(),-]*"))*|COMMIT)$/

test('whatever Services and endpoints are called, the rules are lines of sound words', () => {
  let planned = 0
  fc.assert(
    fc.property(anyService, anyEndpoint, (shape, endpoint) => {
      const service = parseService(wireServiceOf(shape), dialect).value
      if (service === undefined) return
      const slice = parseEndpointSlice(wireSliceOf(shape, endpoint), dialect).value
      const frontends = planFrontends(service, slice ? [slice] : [], { nodeName: 'node-1', family: 'IPv4' })
      const changes = new ProxyRuleset(settings).update(new Map([[service.key, lowerService(frontends, settings)]]))
      for (const line of renderRestore(changes).trimEnd().split('\n')) assert.match(line, ruleLine)
      planned += 1
    }),
    { numRuns: 250 },
  )
  assert.ok(planned > 20, `${planned} of them were planned`)
})

test('whatever they are called, the zone answers what is asked, and names nothing by halves', () => {
  fc.assert(
    fc.property(anyService, anyEndpoint, (shape, endpoint) => {
      const service = parseService(wireServiceOf(shape), dialect).value
      const slice = parseEndpointSlice(wireSliceOf(shape, endpoint), dialect).value
      const zone = new TestZone().synced()
      if (service) zone.add({ service, slices: slice ? [slice] : [] })
      for (const type of [recordType.A, recordType.SRV, recordType.TXT])
        for (const name of ['web.default.svc.cluster.local', 'h.web.default.svc.cluster.local', 'svc.cluster.local'])
          zone.ask(name, type)
    }),
    { numRuns: 100 },
  )
})

const resolverLine =
  /^(search( [A-Za-z0-9._-]+)+|nameserver [0-9a-f.:]+|options( [A-Za-z][A-Za-z0-9-]*(:[A-Za-z0-9._-]+)?)+)$/

test("whatever a pod's dnsConfig says, its resolver file has lines of sound words, and no nameserver that is no address", () => {
  const any = fc.record({
    namespace: either('default'),
    nameservers: fc.array(
      either('192.0.2.53').map((text) => text as Ip),
      { maxLength: 4 },
    ),
    searches: fc.array(either('example.org'), { maxLength: 4 }),
    options: fc.array(fc.record({ name: either('ndots'), value: either('2') }), { maxLength: 3 }),
  })
  fc.assert(
    fc.property(any, ({ namespace, ...dnsConfig }) => {
      const cluster = { nameservers: ['10.96.0.10' as Ip], domain: 'cluster.local' }
      const host = { nameservers: [], searches: dnsConfig.searches, options: [] }
      const { text } = planPodResolver({ namespace, hostNetwork: false, dnsConfig }, cluster, host)
      for (const line of text.trimEnd().split('\n')) assert.match(line, resolverLine)
      for (const [, address = ''] of text.matchAll(/^nameserver (.*)$/gm))
        assert.ok(['10.96.0.10', '192.0.2.53'].includes(address), address)
    }),
    { numRuns: 1_000 },
  )
})
