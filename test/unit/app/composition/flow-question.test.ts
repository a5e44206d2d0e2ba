import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { answerFlow, type FlowAnswer, type FlowSources } from '../../../../src/app/composition/flow-question.ts'
import { createPolicyExplainer } from '../../../../src/app/composition/policy-explainer.ts'
import type { NetworkPolicy } from '../../../../src/model/network-policy.ts'
import { type ClusterLookup, readAskedPod } from '../../../../src/node/policy/asked-objects.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { clusterOf, ipBlock, podOf, podsPeer, policyOf, portRange } from '../../../helpers/policy-cluster.ts'

const pods = [
  podOf('x/client', ['10.244.0.1']),
  podOf('x/web-1', ['10.244.0.2', 'fd00::2']),
  podOf('x/web-2', ['10.244.0.3']),
  podOf('x/pending', []),
]

/** Pods of this node in the cluster state; those of node n2 come from the API. */
function policiesOf(policies: readonly NetworkPolicy[], { caveat, lookup, isolated }: Situation = {}) {
  const cluster = clusterOf({ pods, policies, namespaces: { x: {} } })
  const known = {
    ...cluster,
    pod: (key: string) => pods.find((pod) => pod.key === key),
    podAt: (address: string) => pods.find(({ ips }) => ips.some((ip) => ip === address)),
  }
  const state = { cluster: known, nodeName: 'n1', isIsolatedUnknown: (address: string) => address === isolated }
  return createPolicyExplainer({
    ...state,
    caveat: () => caveat,
    ownAddresses: () => new Set([ipOf('192.0.2.1')]),
    lookup: () => lookup ?? unreachable,
  })
}

interface Situation {
  readonly caveat?: string
  readonly lookup?: ClusterLookup
  readonly isolated?: string
}

const unreachable: ClusterLookup = {
  pods: () => Promise.reject(new Error('connection refused')),
  nodes: () => Promise.reject(new Error('connection refused')),
}

const wirePod = (name: string, podIP: string, spec: object, status: object = {}, metadata: object = {}) => ({
  metadata: { name, namespace: 'x', labels: { pod: name }, ...metadata },
  spec: { nodeName: 'n2', containers: [{ name: 'main', image: 'i' }], ...spec },
  status: { phase: 'Running', podIP, podIPs: podIP === '' ? [] : [{ ip: podIP }], ...status },
})

const hostPorts = [{ hostPort: 9000, containerPort: 80 }]

/** The cluster as the API server has it: pods of node n2, and both nodes. */
const reachable: ClusterLookup = {
  pods: async () =>
    [
      wirePod('far', '10.244.1.7', { containers: [{ name: 'main', image: 'i', ports: hostPorts }] }),
      wirePod('old', '10.244.1.8', {}, {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      wirePod('done', '10.244.1.7', {}, { phase: 'Succeeded' }),
      wirePod('agent', '192.0.2.2', { hostNetwork: true }),
      wirePod('waiting', '', { nodeName: undefined }, { phase: 'Pending' }),
    ].flatMap((pod) => readAskedPod(pod, 'n1') ?? []),
  nodes: async () => [
    { name: 'n1', addresses: [ipOf('192.0.2.1')] },
    { name: 'n2', addresses: [ipOf('192.0.2.2')] },
  ],
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
      '  egress, on node n1: no policy isolates pod x/client (10.244.0.1) in this direction.',
      '  ingress, on node n1: policy x/p allows it by spec.ingress[0].from[0].',
      'Network policies deny TCP port 8080 from pod x/client (10.244.0.1) to pod x/web-2 (10.244.0.3).',
      '  egress, on node n1: no policy isolates pod x/client (10.244.0.1) in this direction.',
      '  ingress, on node n1: denied: a policy isolates pod x/web-2 (10.244.0.3), and no rule matches.',
      '    x/q has no ingress rules.',
    ])
  })

  it('says first that programs of this node have no route to the address of a Service, before which no rule is met', async () => {
    const [family] = proxyTo()
    assert.ok(family)
    const explained = { services: ['the cluster IP of x/web'], outcomes: [], reasons: [], lines: ['by the proxy'] }
    const view = { isPlanning: false, explainFlow: () => explained }
    const families = [{ plane: { ...family.plane, view } }]
    const linesFrom = async (source: string, link?: string) =>
      (await explain({ families, interfaceOf: async () => link }, { source, destination: service })).lines
    assert.match((await linesFrom('127.0.0.1'))[0] ?? '', /^This node finds no route to 10\.96\.0\.1 /)
    assert.deepEqual(await linesFrom('127.0.0.1', 'eth0'), ['by the proxy'])
    assert.deepEqual(await linesFrom(client), ['by the proxy'], 'a packet of a pod meets the rules before its route')
  })

  it('names three of many endpoints', async () => {
    const { lines, policies } = await explain(
      { families: proxyTo(...Array.from({ length: 20 }, () => '10.244.0.2')), policy: policiesOf([]) },
      { source: client, destination: service },
    )
    assert.equal(policies.length, 20)
    assert.equal(lines.at(-1), `Network policies allow 17 more: ${Array(17).fill('10.244.0.2:8080').join(', ')}.`)
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

  it('says why a pod has no address', async () => {
    const sources = { families: proxyTo('10.244.0.2'), policy: policiesOf([], { lookup: reachable }) }
    const cases = {
      'x/none': /the cluster has no pod x\/none/,
      'x/done': /pod x\/done has finished: it sends and receives nothing/,
      'x/waiting': /pod x\/waiting has no address yet: it is on no node/,
    }
    for (const [pod, words] of Object.entries({ ...cases, 'x/pending': /pod x\/pending has no address yet/ })) {
      const { status, body } = await ask(sources, { source: client, destination: pod })
      assert.equal(status, 404)
      assert.match(JSON.stringify(body), words)
    }
    const unnamed = await ask({ families: proxyTo('10.244.0.2') }, { source: 'x/client', destination: service })
    assert.match(JSON.stringify(unnamed.body), /give the address of x\/client/)
    const away = await ask({ policy: policiesOf([]) }, { source: client, destination: 'x/far' })
    assert.equal(away.status, 503)
    assert.match(JSON.stringify(away.body), /x\/far is not one of this node, and the API server cannot be asked: conn/)
  })

  it('says when the policies are not enforced', async () => {
    const { lines } = await explain(
      { policy: policiesOf([], { caveat: 'ipset is missing' }) },
      { source: client, destination: '10.244.0.2' },
    )
    assert.equal(lines.at(-1), 'This node does not enforce network policies: ipset is missing')
  })

  const onFar = policyOf('x/far', { podSelector: podsPeer({ pod: 'far' }).pods, ingress: [], egress: [] })

  it('judges the other side on its node too, between any two pods', async () => {
    const policy = policiesOf([onFar, onWeb1], { lookup: reachable })
    const outgoing = await explain({ policy }, { source: 'x/client', destination: 'x/far' })
    assert.deepEqual(outgoing.lines.slice(1), [
      'Network policies deny TCP port 80 from pod x/client (10.244.0.1) to pod x/far (10.244.1.7).',
      '  egress, on node n1: no policy isolates pod x/client (10.244.0.1) in this direction.',
      '  ingress, on node n2: denied: a policy isolates pod x/far (10.244.1.7), and no rule matches.',
      '    x/far has no ingress rules.',
    ])
    const [{ nodes, unjudged } = { nodes: {}, unjudged: [] }] = outgoing.policies
    assert.deepEqual([nodes, unjudged], [{ egress: 'n1', ingress: 'n2' }, []])
    const between = await explain({ policy }, { source: 'x/far', destination: 'x/old' })
    assert.match(between.lines.join('\n'), /Pod x\/old is terminating: policies select it until it is gone\./)
    assert.match(
      between.lines.join('\n'),
      /deny .*egress, on node n2: denied.*ingress, on node n2: no policy isolates/s,
    )
  })

  it('judges each endpoint of a Service on its own node, and says whose rules of Services were asked', async () => {
    const policy = policiesOf([onFar], { lookup: reachable })
    const [first] = proxyTo('10.244.0.2', '10.244.1.7')
    assert.ok(first)
    const explainFlow = () => ({
      ...first.plane.view.explainFlow({} as never, {} as never),
      services: ['a cluster IP'],
    })
    const families = [{ plane: { ...first.plane, view: { isPlanning: false, explainFlow } } }]
    const { policies, lines } = await explain({ families, policy }, { source: 'x/old', destination: service })
    assert.deepEqual(
      policies.map(({ isAllowed, nodes }) => [isAllowed, nodes]),
      [
        [true, { egress: 'n2', ingress: 'n1' }],
        [false, { egress: 'n2', ingress: 'n2' }],
      ],
    )
    assert.match(lines.join('\n'), /10\.244\.1\.8 is on node n2, which chooses the endpoint; .* are those of n1\./)
  })

  it('says which side could not be judged, and why, while the API server is away', async () => {
    const { lines, policies } = await explain({ policy: policiesOf([]) }, { source: client, destination: '10.244.1.7' })
    assert.deepEqual(policies[0]?.unjudged, ['ingress'])
    assert.match(
      lines.join('\n'),
      /allow .* to 10\.244\.1\.7, as far as they could be judged\.\n.*\n {2}ingress: not judged: if 10\.244\.1\.7 is the address of a pod, its node decides; the API server cannot be asked: connection refused\./,
    )
  })

  it('takes a pod of the network of its node for the node, which reaches its own pods', async () => {
    const policy = policiesOf([onFar, onWeb1], { lookup: reachable })
    const own = await explain({ policy }, { source: 'x/agent', destination: 'x/far' })
    assert.equal(own.policies[0]?.isAllowed, true)
    assert.match(
      own.lines.join('\n'),
      /Pod x\/agent uses the network of its node n2: .*192\.0\.2\.2 is its node; a node/s,
    )
    const other = await explain({ policy }, { source: 'x/agent', destination: 'x/web-1' })
    assert.match(other.lines.join('\n'), /egress: 192\.0\.2\.2 is an address of node n2; policies isolate pods only\./)
    assert.equal(other.policies[0]?.isAllowed, false)
  })

  it('follows a host port of any node to the pod behind it', async () => {
    const policy = policiesOf([onFar], { lookup: reachable })
    const query = { source: '203.0.113.9', destination: '192.0.2.2', port: '9000' }
    const { lines, policies } = await explain({ policy }, query)
    assert.deepEqual(policies[0]?.destination, { address: '10.244.1.7', port: 80 })
    assert.match(
      lines.join('\n'),
      /Port 9000 of 192\.0\.2\.2 is a host port of pod x\/far, which gets it at port 80\.\nNet.* deny/,
    )
  })

  it('judges what this node masquerades by its own address on the node of the endpoint', async () => {
    const allowed = (cidr: string) =>
      policiesOf([{ ...onFar, ingress: [{ peers: [ipBlock(cidr)] }] }], { lookup: reachable })
    const [first] = proxyTo('10.244.1.7')
    assert.ok(first)
    const explainFlow = () => {
      const explained = first.plane.view.explainFlow({} as never, {} as never)
      return { ...explained, outcomes: explained.outcomes.map((outcome) => ({ ...outcome, masqueraded: true })) }
    }
    const families = [{ plane: { ...first.plane, view: { isPlanning: false, explainFlow } } }]
    const query = { source: '203.0.113.9', destination: '192.0.2.1', port: '30080' }
    const byClient = await explain({ families, policy: allowed('203.0.113.0/24') }, query)
    const byNode = await explain({ families, policy: allowed('192.0.2.1/32') }, query)
    assert.deepEqual([byClient.policies[0]?.isAllowed, byNode.policies[0]?.isAllowed], [false, true])
    assert.match(
      byNode.lines.join('\n'),
      /The packet comes there from 192\.0\.2\.1, an address of the node that it passes/,
    )
  })

  it('judges ICMP without a port and without the rules of Services', async () => {
    const families = proxyTo('10.244.0.3')
    const query = { source: client, destination: '10.244.0.2', protocol: 'ICMP' }
    const denied = await explain({ families, policy: policiesOf([onWeb1]) }, query)
    assert.equal(denied.policies[0]?.isAllowed, false)
    assert.match(
      denied.lines.join('\n'),
      /take TCP, UDP and SCTP only.*deny protocols without ports.*its ports do not/s,
    )
    const open = await explain({ families, policy: policiesOf([]) }, query)
    assert.equal(open.policies[0]?.isAllowed, true)
  })

  it('isolates an address of the pod network that no pod has, where the option says so', async () => {
    const query = { source: client, destination: '10.244.0.99' }
    const open = await explain({ policy: policiesOf([], { lookup: reachable }) }, query)
    const closed = await explain({ policy: policiesOf([], { lookup: reachable, isolated: '10.244.0.99' }) }, query)
    assert.deepEqual([open.policies[0]?.isAllowed, closed.policies[0]?.isAllowed], [true, false])
  })
})
