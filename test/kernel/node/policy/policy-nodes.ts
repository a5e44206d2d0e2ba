import type { Ip, IpFamily } from '../../../../src/model/ip.ts'
import type { Labels, NetworkPolicy, PolicyChanges, PolicyPod } from '../../../../src/model/network-policy.ts'
import { policyHooks } from '../../../../src/netfilter/policy/hooks.ts'
import type { PolicyRuleSettings } from '../../../../src/netfilter/policy/settings.ts'
import { PolicyEvaluator } from '../../../../src/node/policy/evaluate.ts'
import { PolicyPlan } from '../../../../src/node/policy/plan.ts'
import type { Flow } from '../../../../src/node/policy/verdict.ts'
import { detectIptables, type Flavour, Iptables, RulesWriter } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { cidrOf } from '../../../helpers/addresses.ts'
import type { TestNetns } from '../../../helpers/netns.ts'
import { clusterOf } from '../../../helpers/policy-cluster.ts'
import { PolicyKernel } from '../../../helpers/policy-kernel.ts'
import { layout, type ModelCluster, type NodeName, nodeNames } from './model-cluster.ts'

/** The objects of a cluster; which pods are local is for each node to say. */
export interface PolicyObjects {
  readonly policies: readonly NetworkPolicy[]
  readonly pods: readonly PolicyPod[]
  readonly namespaces: Readonly<Record<string, Labels>>
}

const nothing: PolicyObjects = { policies: [], pods: [], namespaces: {} }

export interface PolicyNodesOptions extends Partial<Omit<PolicyRuleSettings, 'family'>> {
  readonly flavour?: Flavour
  /** Both where it is left out. */
  readonly families?: readonly IpFamily[]
}

interface Engine {
  readonly plan: PolicyPlan
  readonly writer: RulesWriter
  readonly kernel: PolicyKernel
  isSynced: boolean
}

/** Plans and writes on one node what its pods need, and knows what the evaluator and the tracer say there. */
class PolicyNode {
  readonly #name: NodeName
  readonly #engines: ReadonlyMap<IpFamily, Engine>
  #objects = nothing

  private constructor(name: NodeName, engines: ReadonlyMap<IpFamily, Engine>) {
    this.#name = name
    this.#engines = engines
  }

  static async start(
    name: NodeName,
    netns: TestNetns,
    { flavour = 'nft', families = ['IPv4', 'IPv6'], ...settings }: PolicyNodesOptions,
  ): Promise<PolicyNode> {
    const start = async (family: IpFamily): Promise<readonly [IpFamily, Engine]> => {
      const choice = await detectIptables(netns.run, family, flavour)
      const writer = new RulesWriter({
        iptables: new Iptables(choice, netns.run),
        tables: ['mangle'],
        hooks: policyHooks(),
        log: silentLogger,
      })
      const podCidrs = layout[name].podCidrs.map(cidrOf)
      const plan = new PolicyPlan({
        family,
        dnsAddresses: [],
        podCidrs,
        isolatesUnknown: false,
        logsDenied: false,
        ...settings,
      })
      return [family, { plan, writer, kernel: new PolicyKernel(family), isSynced: false }]
    }
    return new PolicyNode(name, new Map(await Promise.all(families.map(start))))
  }

  /** Resolves when the kernel has the rules of these objects in place of the ones before. */
  async apply(next: PolicyObjects): Promise<void> {
    const local = { ...next, pods: next.pods.map((pod) => ({ ...pod, isLocal: nodeOf(pod) === this.#name })) }
    const changes = changesBetween(this.#objects, local)
    this.#objects = local
    await Promise.all(Array.from(this.#engines.values(), (engine) => write(engine, changes)))
  }

  /** What the pure evaluator says of a flow on this node. */
  evaluator(): PolicyEvaluator {
    const isNodeAddress = (address: Ip) => this.#isOwn(address)
    return new PolicyEvaluator(clusterOf(this.#objects), { judges: 'this-node', isNodeAddress })
  }

  /** Whether the planned chains and sets let the first packet of a flow pass; what begins or ends on the node meets none. */
  traces({ source, destination, protocol, port }: AddressedFlow): boolean {
    if (this.#isOwn(source) || this.#isOwn(destination)) return true
    const kernel = this.#engines.get(source.includes(':') ? 'IPv6' : 'IPv4')?.kernel
    return kernel?.walk({ source, destination, protocol, port }).verdict === 'pass'
  }

  #isOwn(address: Ip): boolean {
    const { bridge, uplink } = layout[this.#name]
    return [...bridge, ...uplink].includes(address)
  }

  async stop(): Promise<void> {
    const signal = AbortSignal.timeout(5_000)
    await Promise.all(Array.from(this.#engines.values(), ({ writer }) => writer.stop({ signal })))
  }
}

export interface AddressedFlow extends Pick<Flow, 'protocol' | 'port'> {
  readonly source: Ip
  readonly destination: Ip
}

/** Both nodes of a model. */
export class PolicyNodes {
  readonly #nodes: readonly PolicyNode[]

  private constructor(nodes: readonly PolicyNode[]) {
    this.#nodes = nodes
  }

  static async start(model: ModelCluster, options: PolicyNodesOptions = {}): Promise<PolicyNodes> {
    return new PolicyNodes(
      await Promise.all(nodeNames.map((name) => PolicyNode.start(name, model.nodes[name], options))),
    )
  }

  async apply(objects: PolicyObjects): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.apply(objects)))
  }

  /** Returns what says whether a flow between two addresses passes both nodes; every node judges its own pods. */
  judge(): (flow: AddressedFlow) => boolean {
    const evaluators = this.#nodes.map((node) => node.evaluator())
    return ({ source, destination, protocol, port }) =>
      evaluators.every(
        (each) =>
          each.judge({ source: { address: source }, destination: { address: destination }, protocol, port }).isAllowed,
      )
  }

  /** What the planned chains and sets of both nodes say of a flow that they forward. */
  traces(flow: AddressedFlow): boolean {
    return this.#nodes.every((node) => node.traces(flow))
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()))
  }
}

function nodeOf({ ips }: PolicyPod): NodeName {
  return ips.some((ip) => ip.startsWith('10.244.2.') || ip.startsWith('fd00:2:')) ? 'node2' : 'node1'
}

async function write(engine: Engine, changes: PolicyChanges): Promise<void> {
  const { plan, writer, kernel } = engine
  const step = plan.update(changes)
  kernel.apply(step)
  const tables = step.table === undefined ? [] : [step.table]
  if (engine.isSynced) await writer.write(tables, plan.hash, step.sets)
  else await writer.sync(tables, plan.hash, step.sets)
  engine.isSynced = true
}

function changesBetween(before: PolicyObjects, after: PolicyObjects): PolicyChanges {
  const byKey = <Item extends { readonly key: string }>(items: readonly Item[]) =>
    new Map(items.map((item) => [item.key, item]))
  return {
    policies: difference(byKey(before.policies), byKey(after.policies)),
    pods: difference(byKey(before.pods), byKey(after.pods)),
    namespaces: difference(new Map(Object.entries(before.namespaces)), new Map(Object.entries(after.namespaces))),
  }
}

/** New and changed items by key, undefined for what is gone. */
function difference<Item>(
  before: ReadonlyMap<string, Item>,
  after: ReadonlyMap<string, Item>,
): ReadonlyMap<string, Item | undefined> {
  const changed = [...after].filter(([key, item]) => JSON.stringify(before.get(key)) !== JSON.stringify(item))
  const gone = [...before.keys()].filter((key) => !after.has(key))
  return new Map<string, Item | undefined>([...changed, ...gone.map((key) => [key, undefined] as const)])
}
