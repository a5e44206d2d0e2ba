import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Service } from '../../../src/model/service.ts'
import { proxyHooks } from '../../../src/netfilter/hooks.ts'
import { lowerService } from '../../../src/netfilter/lower-service.ts'
import { parseSave } from '../../../src/netfilter/parse.ts'
import { planSets } from '../../../src/netfilter/sets.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { planFrontends } from '../../../src/node/proxy/plan.ts'
import type { ServiceState } from '../../helpers/arbitrary-services.ts'
import { readGolden } from '../../helpers/golden.ts'
import { findInconsistencies } from '../../helpers/rule-consistency.ts'
import { renderRestore, TestRuleset } from '../../helpers/rulesets.ts'
import { cidr, ip, makeEndpoint, makePort, makeService, makeSlice } from '../../helpers/services.ts'

const folder = new URL('./proxy-ruleset/', import.meta.url)
const ipv4: ProxyRuleSettings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } }
const ipv6: ProxyRuleSettings = { family: 'IPv6', localTraffic: { kind: 'source', cidr: cidr('fd00:10:244::/56') } }
const web = makeService('default/web', '10.96.0.10')
const three = ['10.244.1.5', '10.244.2.7', '10.244.1.12']
const httpOn = (service: string, endpoints: readonly string[]) => [
  makeSlice(service, [['http', 'TCP', 8080]], endpoints),
]

interface GoldenCase {
  readonly name: string
  readonly services: readonly ServiceState[]
  readonly settings?: ProxyRuleSettings
}

const cases: readonly GoldenCase[] = [
  { name: 'no-services', services: [] },
  { name: 'cluster-ip-one-endpoint', services: [{ service: web, slices: httpOn('default/web', ['10.244.1.5']) }] },
  { name: 'cluster-ip-three-endpoints', services: [{ service: web, slices: httpOn('default/web', three) }] },
  {
    name: 'node-port',
    services: [
      {
        service: { ...web, type: 'NodePort', ports: [makePort('http', 'TCP', 80, 30080)] },
        slices: httpOn('default/web', three.slice(0, 2)),
      },
    ],
  },
  {
    name: 'affinity',
    services: [
      {
        service: { ...web, affinity: { timeoutSeconds: 10800 } },
        slices: httpOn('default/web', three.slice(0, 2)),
      },
    ],
  },
  {
    name: 'no-endpoints',
    services: [{ service: { ...web, type: 'NodePort', ports: [makePort('http', 'TCP', 80, 30080)] }, slices: [] }],
  },
  {
    name: 'several-ports',
    services: [
      {
        service: {
          ...web,
          ports: [makePort('http', 'TCP', 80), makePort('admin', 'TCP', 8000), makePort('idle', 'TCP', 1)],
        },
        slices: [
          makeSlice(
            'default/web',
            [
              ['http', 'TCP', 8080],
              ['admin', 'TCP', 9000],
            ],
            ['10.244.1.5'],
          ),
        ],
      },
    ],
  },
  {
    name: 'unnamed-port',
    services: [
      {
        service: { ...web, ports: [makePort('', 'TCP', 80)] },
        slices: [makeSlice('default/web', [['', 'TCP', 8080]], ['10.244.1.5'])],
      },
    ],
  },
  {
    name: 'udp-and-sctp',
    services: [
      {
        service: makeService('kube-system/dns', '10.96.0.53', {
          ports: [makePort('dns', 'UDP', 53), makePort('dns', 'TCP', 53), makePort('signal', 'SCTP', 2905, 32905)],
        }),
        slices: [
          makeSlice(
            'kube-system/dns',
            [
              ['dns', 'UDP', 5353],
              ['dns', 'TCP', 5353],
              ['signal', 'SCTP', 2905],
            ],
            ['10.244.1.5'],
          ),
        ],
      },
    ],
  },
  {
    name: 'several-services',
    services: [
      { service: makeService('shop/cart', '10.96.0.30'), slices: httpOn('shop/cart', ['10.244.3.1']) },
      { service: web, slices: httpOn('default/web', ['10.244.1.5']) },
      { service: makeService('default/api', '10.96.0.20'), slices: [] },
      {
        service: makeService('default/headless', '10.96.0.21', { clusterIps: [], headless: true }),
        slices: httpOn('default/headless', three),
      },
    ],
  },
  {
    name: 'only-terminating-endpoints',
    services: [
      {
        service: web,
        slices: [
          makeSlice(
            'default/web',
            [['http', 'TCP', 8080]],
            [
              makeEndpoint('10.244.1.5', { ready: false, terminating: true }),
              makeEndpoint('10.244.1.6', { ready: false, serving: false, terminating: true }),
            ],
          ),
        ],
      },
    ],
  },
  {
    name: 'ipv6',
    settings: ipv6,
    services: [
      {
        service: makeService('default/web', 'fd00:10:96::10', {
          affinity: { timeoutSeconds: 60 },
          ports: [makePort('http', 'TCP', 80, 30080), makePort('idle', 'TCP', 1)],
        }),
        slices: httpOn('default/web', ['fd00:10:244:1::5']),
      },
    ],
  },
  ...shapesIn('', ipv4),
  ...shapesIn('-ipv6', ipv6),
  {
    name: 'switches',
    settings: {
      ...ipv4,
      masqueradeAll: true,
      masqueradeBit: 3,
      randomFully: false,
      dropInvalid: false,
      nodePortAddresses: [ip('192.0.2.1'), ip('192.0.2.2')],
      noLocalEndpoints: 'reject',
      affinity: { form: 'recent', isHard: true },
    },
    services: [
      {
        service: { ...web, affinity: { timeoutSeconds: 60 }, ports: [makePort('http', 'TCP', 80, 30080)] },
        slices: httpOn('default/web', ['10.244.1.5']),
      },
      {
        service: makeService('default/local', '10.96.0.11', { internalTrafficPolicy: 'Local' }),
        slices: httpOn('default/local', ['10.244.1.6']),
      },
    ],
  },
]

/** Every shape of a Service that kube-proxy knows, in one family. */
function shapesIn(suffix: string, settings: ProxyRuleSettings): readonly GoldenCase[] {
  const isIpv4 = settings.family === 'IPv4'
  const [clusterIp, vip, external, node] = isIpv4
    ? ['10.96.0.10', '198.51.100.1', '198.51.100.2', '192.0.2.1']
    : ['fd00:10:96::10', '2001:db8:3::1', '2001:db8:3::2', '2001:db8:1::1']
  const range = cidr(isIpv4 ? '192.0.2.0/24' : '2001:db8:1::/48')
  const [here, there] = isIpv4 ? ['10.244.0.1', '10.244.1.1'] : ['fd00:10:244::1', 'fd00:10:244:1::1']
  const slicesOn = (...nodes: readonly string[]) => [
    makeSlice(
      'default/web',
      [['http', 'TCP', 8080]],
      [makeEndpoint(here, { nodeName: 'node-a' }), makeEndpoint(there, { nodeName: 'node-b' })].filter(({ nodeName }) =>
        nodes.includes(nodeName ?? ''),
      ),
    ),
  ]
  const shape = (
    name: string,
    details: Partial<Service>,
    slices = slicesOn('node-a', 'node-b'),
    more: Partial<ProxyRuleSettings> = {},
  ) => ({
    name: `${name}${suffix}`,
    settings: { ...settings, ...more },
    services: [{ service: makeService('default/web', clusterIp, details), slices }],
  })
  const local = { externalTrafficPolicy: 'Local' } as const
  const nodePort = { type: 'NodePort', ports: [makePort('http', 'TCP', 80, 30080)] } as const
  const balancer = { ...nodePort, type: 'LoadBalancer', loadBalancerVips: [ip(vip)] } as const
  const withIpSet = { affinity: { form: 'ipset', isHard: false } } as const
  return [
    shape('internal-local', { internalTrafficPolicy: 'Local' }),
    shape('internal-local-without-local', { internalTrafficPolicy: 'Local' }, slicesOn('node-b')),
    shape('external-ip', { externalIps: [ip(external)] }),
    shape('external-ip-local', { ...local, externalIps: [ip(external)] }),
    shape('external-ip-without-endpoints', { externalIps: [ip(external)] }, []),
    shape('node-port-local', { ...local, ...nodePort }),
    shape('node-port-local-without-local', { ...local, ...nodePort }, slicesOn('node-b')),
    shape('load-balancer', balancer),
    shape('load-balancer-local', { ...local, ...balancer, healthCheckNodePort: 32000 }),
    shape(
      'load-balancer-local-without-local',
      { ...local, ...balancer, healthCheckNodePort: 32000 },
      slicesOn('node-b'),
    ),
    shape('load-balancer-ranges', { ...balancer, sourceRanges: [range] }, undefined, { nodeIps: [ip(node)] }),
    shape('load-balancer-ranges-of-others', { ...balancer, sourceRanges: [range] }),
    shape('load-balancer-closed', { ...balancer, sourceRanges: [] }),
    shape('load-balancer-without-endpoints', { ...balancer, sourceRanges: [range] }, []),
    shape('affinity-ipset', { affinity: { timeoutSeconds: 60 } }, undefined, withIpSet),
    shape('affinity-ipset-hard', { affinity: { timeoutSeconds: 60 } }, undefined, {
      affinity: { form: 'ipset', isHard: true },
    }),
    shape('affinity-hard', { affinity: { timeoutSeconds: 60 } }, undefined, {
      affinity: { form: 'recent', isHard: true },
    }),
  ]
}

for (const { name, services, settings = ipv4 } of cases) {
  test(`the rules of ${name.replaceAll('-', ' ')} are those of the golden file, sound, and read back equal`, () => {
    const ruleset = new TestRuleset(settings)
    const node = { nodeName: 'node-a', family: settings.family }
    const rules = services.map(
      ({ service, slices }) => [service.key, lowerService(planFrontends(service, slices, node), settings)] as const,
    )
    const sets = rules.length > 0 ? planSets(new Map(rules.flatMap(([, { sets }]) => [...sets])), new Map()).before : ''
    const text = renderRestore(ruleset.update(new Map(rules)), settings.family)
    assert.equal(text, readGolden(folder, `${name}.iptables`, text))
    if (sets !== '') assert.equal(sets, readGolden(folder, `${name}.ipset`, sets))
    assert.deepEqual(planSets(ruleset.sets(), new Map()).before, sets)
    assert.deepEqual(findInconsistencies(ruleset.ruleset(), proxyHooks()), [])
    const saved = parseSave(text)
    for (const table of ['nat', 'filter'] as const) {
      const again = [{ table, set: ruleset.ruleset()[table], remove: [] }]
      const readBack = [{ table, set: saved[table].chains as (typeof again)[0]['set'], remove: [] }]
      assert.equal(renderRestore(readBack, settings.family), renderRestore(again, settings.family))
    }
  })
}
