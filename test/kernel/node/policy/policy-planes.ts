import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Ip, IpFamily } from '../../../../src/model/ip.ts'
import type { Labels, NetworkPolicy } from '../../../../src/model/network-policy.ts'
import { policyHooks } from '../../../../src/netfilter/policy/hooks.ts'
import { CniGate } from '../../../../src/node/cni/gate.ts'
import type { PodRecord } from '../../../../src/node/policy/cluster-state.ts'
import {
  ClusterState,
  createFlowCutter,
  createFlowCutterMetrics,
  createPolicyMetrics,
  findPolicyObstacles,
  ListedCollections,
  LivePlan,
  PolicyEvaluator,
  PolicyPlane,
  PolicyProblems,
  policyPlane,
  StandingRules,
} from '../../../../src/node/policy/index.ts'
import { detectIptables, Iptables, RulesWriter } from '../../../../src/node/rules/index.ts'
import { AppliedRevisions, LiveNodeState } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { createMetrics, silentLogger } from '../../../../src/observe/index.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import type { TestNetns } from '../../../helpers/netns.ts'
import { dialect, wireService } from '../../../helpers/wire-objects.ts'
import { layout, type ModelCluster, type NodeName, nodeNames } from './model-cluster.ts'
import type { AddressedFlow } from './policy-nodes.ts'

const families: readonly IpFamily[] = ['IPv4', 'IPv6']

/** The plane of NetworkPolicy on one node of a model, and the gate of its pods. Objects are handed over by the test. */
export class PlaneNode {
  readonly name: NodeName
  readonly plane: PolicyPlane
  readonly state: ClusterState
  readonly gate: CniGate
  readonly #nodeState: LiveNodeState
  readonly #applied: AppliedRevisions
  readonly #lists = new ListedCollections()
  readonly #components: readonly { stop(scope: { signal: AbortSignal }): Promise<void> }[]
  #marks = 0

  private constructor(name: NodeName, netns: TestNetns, writers: ReadonlyMap<IpFamily, RulesWriter>) {
    this.name = name
    this.state = new ClusterState()
    this.#nodeState = new LiveNodeState(silentLogger)
    this.#applied = new AppliedRevisions(this.#nodeState)
    this.#applied.register(policyPlane)
    const metrics = createMetrics()
    const cutterMetrics = createFlowCutterMetrics(metrics)
    const served = Array.from(writers, ([family, writer]) => {
      const plan = new LivePlan({ family, dnsAddresses: [], podCidrs: [], isolatesUnknown: false, logsDenied: false })
      const rules = new StandingRules()
      const cutter = createFlowCutter({
        family,
        run: netns.run,
        plan,
        rules,
        membersOf: (set) => writer.membersOf(set),
        nodeAddresses: () => new Set(nodeAddresses(name)),
        metrics: cutterMetrics(family),
        log: silentLogger,
      })
      return { family, writer, plan, rules, cutter }
    })
    this.plane = new PolicyPlane({
      families: served,
      state: this.state,
      lists: this.#lists,
      problems: new PolicyProblems(),
      nodeState: this.#nodeState,
      applied: this.#applied,
      findObstacles: () => findObstaclesIn(netns),
      metrics: createPolicyMetrics(metrics, families),
      log: silentLogger,
      obstacleIntervalMs: 200,
    })
    this.gate = new CniGate({
      state: this.#nodeState,
      applied: this.#applied,
      metrics: { observeWait: () => {} },
      log: silentLogger,
    })
    this.#components = [this.plane, ...served.flatMap(({ cutter, writer }) => [cutter, writer])]
  }

  static async start(name: NodeName, netns: TestNetns): Promise<PlaneNode> {
    const writers = await Promise.all(
      families.map(async (family) => {
        const iptables = new Iptables(await detectIptables(netns.run, family, 'nft'), netns.run)
        const writer = new RulesWriter({ iptables, tables: ['mangle'], hooks: policyHooks(), log: silentLogger })
        return [family, writer] as const
      }),
    )
    const node = new PlaneNode(name, netns, new Map(writers))
    await node.plane.start()
    for (const resource of ['services', 'endpointslices', 'endpoints'] as const)
      node.#nodeState.replace(resource, [], '1')
    return node
  }

  /** The objects that were handed over are all there are. */
  completeLists(): void {
    this.#lists.settle()
  }

  /** Resolves when the kernel has everything that was handed over before. */
  async whenApplied(): Promise<void> {
    this.#marks += 1
    const version = String(this.#marks + 1)
    const marker = wireService('marker', version, { ports: [{ port: 1 + (this.#marks % 60_000) }] })
    this.#nodeState.upsert('services', readObject('services', marker, dialect))
    await this.#applied.waitUntilApplied('services', version, { signal: AbortSignal.timeout(60_000) })
  }

  /** What the runtime does before it starts a pod: resolves when the gate lets the pod begin. */
  async admit(key: string, containerId: string, ips: readonly string[]): Promise<void> {
    const [namespace, name] = key.split('/')
    const answer = await this.gate.answer({
      headers: {
        'x-cni-command': 'ADD',
        'x-cni-containerid': containerId,
        'x-cni-args': `K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name};K8S_POD_UID=${containerId}`,
      },
      body: JSON.stringify({
        prevResult: {
          cniVersion: '1.0.0',
          ips: ips.map((ip) => ({ address: `${ip}/${ip.includes(':') ? 64 : 24}` })),
        },
      }),
      signal: AbortSignal.timeout(10_000),
    })
    if (answer.status !== 200) throw new Error(`the gate answered ${answer.status}: ${answer.body}`)
  }

  async withdraw(containerId: string): Promise<void> {
    const headers = { 'x-cni-command': 'DEL', 'x-cni-containerid': containerId }
    await this.gate.answer({ headers, body: '', signal: AbortSignal.timeout(10_000) })
  }

  async stop(): Promise<void> {
    const scope = { signal: AbortSignal.timeout(10_000) }
    for (const component of this.#components) await component.stop(scope)
  }

  /** What holds on this node by the objects as they are now. */
  evaluator(): PolicyEvaluator {
    return new PolicyEvaluator(this.state, {
      judges: 'this-node',
      isNodeAddress: (address) => nodeAddresses(this.name).includes(address),
      podAt: (address) => this.state.podAt(address),
    })
  }
}

/** The planes of both nodes, which see the same objects at the same time. */
export class PolicyPlanes {
  readonly nodes: readonly PlaneNode[]

  private constructor(nodes: readonly PlaneNode[]) {
    this.nodes = nodes
  }

  static async start(model: ModelCluster): Promise<PolicyPlanes> {
    return new PolicyPlanes(await Promise.all(nodeNames.map((name) => PlaneNode.start(name, model.nodes[name]))))
  }

  setPolicies(policies: ReadonlyMap<string, NetworkPolicy | undefined>): void {
    for (const { state } of this.nodes) state.setPolicies(policies)
  }

  setNamespaces(namespaces: ReadonlyMap<string, Labels | undefined>): void {
    for (const { state } of this.nodes) state.setNamespaces(namespaces)
  }

  /** Pods by key, with the node that they are on. */
  setPods(pods: ReadonlyMap<string, ModelPod | undefined>): void {
    for (const { name, state } of this.nodes)
      state.setPods(new Map(Array.from(pods, ([key, pod]) => [key, pod && recordOf(pod, name)])))
  }

  completeLists(): void {
    for (const node of this.nodes) node.completeLists()
  }

  async whenApplied(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.whenApplied()))
  }

  /** What both nodes together say of a flow by the objects as they are now. */
  judge(): (flow: AddressedFlow) => boolean {
    const evaluators = this.nodes.map((node) => node.evaluator())
    return ({ source, destination, ...service }) =>
      evaluators.every(
        (each) =>
          each.judge({ source: { address: source }, destination: { address: destination }, ...service }).isAllowed,
      )
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()))
  }
}

export interface ModelPod extends Pick<PodRecord, 'key' | 'labels' | 'ips'> {
  readonly node: NodeName
  readonly details?: Partial<PodRecord>
}

function recordOf({ key, labels, ips, node, details }: ModelPod, name: NodeName): PodRecord {
  const life = { uid: '', ports: [], isOutside: false, isTerminating: false, createdAtMs: 0 }
  const [namespace = ''] = key.split('/')
  return { key, namespace, labels, ips, isLocal: node === name, ...life, ...details }
}

function nodeAddresses(name: NodeName): readonly Ip[] {
  const { bridge, uplink } = layout[name]
  return [...bridge, ...uplink].map(ipOf)
}

/** Settings are those of the process that reads them, so the node's are read there and shown in a folder. */
async function findObstaclesIn(netns: TestNetns): Promise<readonly string[]> {
  const sysctlRoot = await mkdtemp(path.join(tmpdir(), 'plt-sysctl-'))
  try {
    await mkdir(path.join(sysctlRoot, 'net/bridge'), { recursive: true })
    for (const name of ['net/bridge/bridge-nf-call-iptables', 'net/bridge/bridge-nf-call-ip6tables'])
      await writeFile(path.join(sysctlRoot, name), await netns.exec('cat', `/proc/sys/${name}`))
    return await findPolicyObstacles({ families, run: netns.run, sysctlRoot })
  } finally {
    await rm(sysctlRoot, { recursive: true, force: true })
  }
}
