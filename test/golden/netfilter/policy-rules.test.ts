import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Labels, NetworkPolicy, PolicyPod } from '../../../src/model/network-policy.ts'
import type { PolicyRuleSettings } from '../../../src/netfilter/policy/settings.ts'
import { PolicyPlan } from '../../../src/node/policy/plan.ts'
import { cidrOf, ipOf } from '../../helpers/addresses.ts'
import { readGolden } from '../../helpers/golden.ts'
import {
  ipBlock,
  namedPort,
  podOf,
  podsPeer,
  policyOf,
  portNamed,
  portRange,
  selects,
} from '../../helpers/policy-cluster.ts'
import { PolicyKernel } from '../../helpers/policy-kernel.ts'

const folder = new URL('./policy-rules/', import.meta.url)
const ipv4: PolicyRuleSettings = {
  family: 'IPv4',
  dnsAddresses: [],
  podCidrs: [cidrOf('10.244.0.0/24'), cidrOf('fd00:0:0:1::/64')],
  isolatesUnknown: false,
  logsDenied: false,
}
const namespaces = new Map<string, Labels>([
  ['x', { team: 'blue' }],
  ['y', { team: 'red' }],
  ['kube-system', { 'kubernetes.io/metadata.name': 'kube-system' }],
])
const isRemote = { isLocal: false }
const pods: readonly PolicyPod[] = [
  podOf('x/web', ['10.244.0.2', 'fd00:0:0:1::2'], { ports: [namedPort('http', 8080), namedPort('admin', 9090)] }),
  podOf('x/db', ['10.244.0.3', 'fd00:0:0:1::3'], { ports: [namedPort('sql', 5432)] }),
  podOf('x/job', ['10.244.1.4', 'fd00:0:0:2::4'], { ...isRemote, ports: [namedPort('http', 8000)] }),
  podOf('y/web', ['10.244.1.5', 'fd00:0:0:2::5'], { ...isRemote, ports: [namedPort('http', 8081)] }),
]
const web = selects({ pod: 'web' })

interface GoldenCase {
  readonly name: string
  readonly policies?: readonly NetworkPolicy[]
  readonly settings?: PolicyRuleSettings
  readonly pods?: readonly PolicyPod[]
}

const cases: readonly GoldenCase[] = [
  { name: 'no-policies' },
  { name: 'deny-all', policies: [policyOf('x/deny', { ingress: [], egress: [] })] },
  {
    name: 'allow-by-label',
    policies: [policyOf('x/web', { podSelector: web, ingress: [{ peers: [podsPeer({ pod: 'job' })] }] })],
  },
  {
    name: 'namespace-and-pod',
    policies: [
      policyOf('x/web', {
        podSelector: web,
        ingress: [{ peers: [podsPeer({ pod: 'web' }, { team: 'red' })], ports: [portRange(8080)] }],
      }),
    ],
  },
  {
    name: 'ip-blocks',
    policies: [
      policyOf('x/web', {
        podSelector: web,
        egress: [
          {
            peers: [ipBlock('10.0.0.0/8', '10.1.2.0/24'), ipBlock('10.1.0.0/16'), ipBlock('fd00::/8')],
            ports: [portRange(443)],
          },
          { peers: [ipBlock('0.0.0.0/0', '10.0.0.0/8', '169.254.0.0/16')], ports: [portRange(80)] },
          { peers: [ipBlock('0.0.0.0/0')], ports: [portRange(22)] },
        ],
      }),
    ],
  },
  {
    name: 'named-ports',
    policies: [
      policyOf('x/all', {
        ingress: [{ peers: [podsPeer({}, {})], ports: [portNamed('http'), portNamed('sql')] }],
        egress: [
          { ports: [portNamed('http')] },
          { peers: [podsPeer({}), ipBlock('10.244.1.0/24')], ports: [portNamed('http'), portRange(443)] },
        ],
      }),
    ],
  },
  {
    name: 'ports',
    policies: [
      policyOf('x/web', {
        podSelector: web,
        ingress: [
          { ports: [portRange(32000, 32768), portRange(53, 53, 'UDP'), { kind: 'protocol', protocol: 'SCTP' }] },
          { ports: Array.from({ length: 9 }, (_, index) => portRange(1000 * (index + 1), 1000 * (index + 1) + 1)) },
        ],
      }),
    ],
  },
  {
    name: 'dns',
    settings: { ...ipv4, dnsAddresses: [ipOf('10.96.0.10'), ipOf('fd00:96::10')] },
    pods: [
      ...pods,
      podOf('kube-system/dns', ['10.96.0.10', 'fd00:96::10'], {
        labels: { 'k8s-app': 'kube-dns' },
        ports: [namedPort('dns', 53, 'UDP'), namedPort('dns-tcp', 53)],
      }),
    ],
    policies: [
      policyOf('x/web', {
        podSelector: web,
        egress: [
          {
            peers: [podsPeer({ 'k8s-app': 'kube-dns' }, { 'kubernetes.io/metadata.name': 'kube-system' })],
            ports: [portRange(53, 53, 'UDP'), portRange(53)],
          },
        ],
      }),
    ],
  },
  {
    name: 'unknown-pods-and-log',
    settings: { ...ipv4, isolatesUnknown: true, logsDenied: true },
    pods: [...pods, podOf('x/new', ['10.244.0.9'], { labels: {}, isUnknown: true })],
  },
]

for (const { name, policies = [], settings = ipv4, pods: all = pods } of cases) {
  for (const family of ['IPv4', 'IPv6'] as const) {
    const file = `${name}.${family.toLowerCase()}.txt`
    test(`${file} says what the kernel gets of ${name.replaceAll('-', ' ')}`, () => {
      const [plan, kernel] = [new PolicyPlan({ ...settings, family }), new PolicyKernel(family)]
      kernel.apply(
        plan.update({
          policies: new Map(policies.map((policy) => [policy.key, policy])),
          pods: new Map(all.map((pod) => [pod.key, pod])),
          namespaces,
        }),
      )
      const text = kernel
        .describe()
        .replaceAll(/:PLAT-NP-SELF\n(-A PLAT-NP-SELF .* -j RETURN\n)+/g, ':PLAT-NP-SELF\n…\n')
      assert.equal(text, readGolden(folder, file, text))
    })
  }
}
