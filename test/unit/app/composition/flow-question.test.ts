import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { answerFlow, type FlowAnswer, type FlowSources } from '../../../../src/app/composition/flow-question.ts'
import { createPolicyExplainer } from '../../../../src/app/composition/policy-explainer.ts'
import type { NetworkPolicy } from '../../../../src/model/network-policy.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { clusterOf, podOf, podsPeer, policyOf, portRange } from '../../../helpers/policy-cluster.ts'

const pods = [
  podOf('x/client', ['10.244.0.1']),
  podOf('x/web-1', ['10.244.0.2', 'fd00::2']),
  podOf('x/web-2', ['10.244.0.3']),
  podOf('x/pending', []),
]

function policiesOf(policies: readonly NetworkPolicy[], caveat?: string) {
  const cluster = clusterOf({ pods, policies })
  const known = {
    ...cluster,
    pod: (key: string) => pods.find((pod) => pod.key === key),
    podAt: (address: string) => pods.find(({ ips }) => ips.some((ip) => ip === address)),
  }
  return createPolicyExplainer(known, () => caveat)
}

/** A proxy that sends every packet to the endpoints, or drops it where there is none. */
function proxyTo(...endpoints: readonly string[]): FlowSources['families'] {
  const outcomes = endpoints.map((endpoint) => ({
    probability: 1 / endpoints.length,
    verdict: 'accept' as const,
    endpoint: `${endpoint}:8080`,
    destination: { address: ipOf(endpoint), port: 8080 },
    masqueraded: false,
    rules: [],
  }))
  const dropped = {
    probability: 1,
    verdict: 'drop' as const,
    endpoint: undefined,
    destination: { address: ipOf('10.96.0.1'), port: 80 },
    masqueraded: false,
    rules: [],
  }
  const explained = {
    services: [],
    outcomes: outcomes.length > 0 ? outcomes : [dropped],
    reasons: [],
    lines: ['by the proxy'],
  }
  const health = { level: 'ok', message: '', sinceMs: 0 } as const
  return [
    { plane: { family: 'IPv4', health: () => health, view: { isPlanning: false, explainFlow: () => explained } } },
  ]
}

async function ask(sources: Partial<FlowSources>, query: Readonly<Record<string, string>>) {
  const whole = {
    families: [],
    interfaceOf: async () => undefined,
    readChains: async () => [],
    policy: undefined,
    ...sources,
  }
  return answerFlow(whole, new URLSearchParams({ port: '80', ...query }))
}

async function explain(sources: Partial<FlowSources>, query: Readonly<Record<string, string>>): Promise<FlowAnswer> {
  const { status, body } = await ask(sources, query)
  assert.equal(status, 200)
  return body as FlowAnswer
}

const client = '10.244.0.1'
const service = '10.96.0.1'
const onWeb1 = policyOf('x/p', {
  podSelector: podsPeer({ pod: 'web-1' }).pods,
  ingress: [{ peers: [podsPeer({ pod: 'client' })], ports: [portRange(8080)] }],
})
const onWeb2 = policyOf('x/q', { podSelector: podsPeer({ pod: 'web-2' }).pods, ingress: [] })

describe('the explanation of a flow', () => {
  it('covers the proxy, then the policies of each endpoint with its own port', async () => {
    const { lines, policies } = await explain(
      { families: proxyTo('10.244.0.2', '10.244.0.3'), policy: policiesOf([onWeb1, onWeb2]) },
      { source: client, destination: service },
    )
    assert.deepEqual(
      policies.map(({ isAllowed, destination }) => [isAllowed, destination]),
      [
        [true, { address: '10.244.0.2', port: 8080 }],
        [false, { address: '10.244.0.3', port: 8080 }],
      ],
    )
    assert.deepEqual(lines, [
      'by the proxy',
      'Network policies allow TCP port 8080 from pod x/client (10.244.0.1) to pod x/web-1 (10.244.0.2).',
      '  egress: no policy isolates pod x/client (10.244.0.1) in this direction.',
      '  ingress: policy x/p allows it by spec.ingress[0].from[0].',
      'Network policies deny TCP port 8080 from pod x/client (10.244.0.1) to pod x/web-2 (10.244.0.3).',
      '  egress: no policy isolates pod x/client (10.244.0.1) in this direction.',
      '  ingress: denied: a policy isolates pod x/web-2 (10.244.0.3), and no rule matches.',
      '    x/q has no ingress rules.',
    ])
  })

  it('names three of many endpoints', async () => {
    const { lines, policies } = await explain(
      { families: proxyTo(...Array.from({ length: 20 }, () => '10.244.0.2')), policy: policiesOf([]) },
      { source: client, destination: service },
    )
    assert.equal(policies.length, 20)
    assert.equal(lines.at(-1), 'Network policies allow 17 more of these destinations.')
    assert.equal(lines.length, 1 + 3 * 3 + 1)
  })

  it('judges no packet that the proxy drops', async () => {
    const { lines, policies } = await explain(
      { families: proxyTo(), policy: policiesOf([onWeb1]) },
      { source: client, destination: service },
    )
    assert.deepEqual([lines, policies], [['by the proxy'], []])
  })

  it('is the proxy alone where the agent runs without policies, and the policies alone without a proxy', async () => {
    const proxied = await explain({ families: proxyTo('10.244.0.2') }, { source: client, destination: service })
    assert.deepEqual([proxied.lines, proxied.policies], [['by the proxy'], []])
    const judged = await explain({ policy: policiesOf([onWeb1]) }, { source: client, destination: '10.244.0.2' })
    assert.match(
      judged.lines.join('\n'),
      /runs without the proxy.*deny TCP port 80 .*x\/p spec\.ingress\[0\]: its ports do not match/s,
    )
  })

  it('takes pods by name, in a family that both have', async () => {
    const sources = { families: proxyTo('10.244.0.2'), policy: policiesOf([onWeb1]) }
    const { lines } = await explain(sources, { source: 'x/client', destination: 'x/web-1' })
    assert.match(lines.join('\n'), /from pod x\/client \(10\.244\.0\.1\) to pod x\/web-1 \(10\.244\.0\.2\)/)
    const mixed = await ask(sources, { source: 'x/client', destination: 'fd00::2' })
    assert.deepEqual(mixed.status, 400)
  })

  it('says which pod it does not know', async () => {
    const sources = { families: proxyTo('10.244.0.2'), policy: policiesOf([]) }
    for (const pod of ['x/none', 'x/pending']) {
      const { status, body } = await ask(sources, { source: client, destination: pod })
      assert.equal(status, 404)
      assert.match(JSON.stringify(body), new RegExp(`knows no address of a pod ${pod}`))
    }
    const unnamed = await ask({ families: proxyTo('10.244.0.2') }, { source: 'x/client', destination: service })
    assert.match(JSON.stringify(unnamed.body), /give the address of x\/client/)
  })

  it('says when the policies are not enforced', async () => {
    const { lines } = await explain(
      { policy: policiesOf([], 'ipset is missing') },
      { source: client, destination: '10.244.0.2' },
    )
    assert.equal(lines.at(-1), 'This node does not enforce network policies: ipset is missing')
  })
})
