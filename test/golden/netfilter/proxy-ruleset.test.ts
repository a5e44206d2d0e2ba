import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { proxyHooks } from '../../../src/netfilter/hooks.ts'
import { lowerService } from '../../../src/netfilter/lower-service.ts'
import { parseSave } from '../../../src/netfilter/parse.ts'
import { ProxyRuleset } from '../../../src/netfilter/proxy-ruleset.ts'
import { renderRestore } from '../../../src/netfilter/render.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { planService } from '../../../src/node/proxy/plan.ts'
import type { ServiceState } from '../../helpers/arbitrary-services.ts'
import { findInconsistencies } from '../../helpers/rule-consistency.ts'
import { cidr, makeEndpoint, makePort, makeService, makeSlice } from '../../helpers/services.ts'

const folder = new URL('./proxy-ruleset/', import.meta.url)
const ipv4: ProxyRuleSettings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } }
const ipv6: ProxyRuleSettings = { family: 'IPv6', localTraffic: { kind: 'source', cidr: cidr('fd00:10:244::/56') } }
const web = makeService('default/web', '10.96.0.10')
const three = ['10.244.1.5', '10.244.2.7', '10.244.1.12']
const httpOn = (service: string, endpoints: readonly string[]) => [
  makeSlice(service, [['http', 'TCP', 8080]], endpoints),
]

const cases: readonly { name: string; services: readonly ServiceState[]; settings?: ProxyRuleSettings }[] = [
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
]

for (const { name, services, settings = ipv4 } of cases) {
  test(`the rules of ${name.replaceAll('-', ' ')} are those of the golden file, sound, and read back equal`, () => {
    const ruleset = new ProxyRuleset(settings)
    const node = { nodeName: 'node-a', family: settings.family }
    const rules = services.map(
      ({ service, slices }) => [service.key, lowerService(planService(service, slices, node), settings)] as const,
    )
    const text = renderRestore(ruleset.update(new Map(rules)), settings.family)
    assert.equal(text, readGolden(`${name}.iptables`, text))
    assert.deepEqual(findInconsistencies(ruleset.ruleset(), proxyHooks()), [])
    const saved = parseSave(text)
    for (const table of ['nat', 'filter'] as const) {
      const again = [{ table, set: ruleset.ruleset()[table], remove: [] }]
      const readBack = [{ table, set: saved[table].chains as (typeof again)[0]['set'], remove: [] }]
      assert.equal(renderRestore(readBack, settings.family), renderRestore(again, settings.family))
    }
  })
}

/** UPDATE_GOLDEN=1 writes what is there now; the difference is then read and committed by a person. */
function readGolden(file: string, current: string): string {
  const path = new URL(file, folder)
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, current)
  }
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
