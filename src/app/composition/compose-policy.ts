import { type ApiClient, ApiEventRecorder } from '../../client/index.ts'
import { localAddresses, NetfilterSocket, type Run } from '../../host/index.ts'
import type { Component } from '../../loop/component.ts'
import { objectKey } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import type { Ip, IpFamily } from '../../model/ip.ts'
import { policyHooks } from '../../netfilter/policy/hooks.ts'
import type { PolicyRuleSettings } from '../../netfilter/policy/settings.ts'
import { clusterDnsPod } from '../../node/dns/index.ts'
import {
  type ClusterLookup,
  ClusterState,
  collectPolicyCounts,
  createClusterLookup,
  createFlowCutter,
  createFlowCutterMetrics,
  createPolicyMetrics,
  DenialLog,
  type FlowCutter,
  findMissingParts,
  findPolicyObstacles,
  ListedCollections,
  LivePlan,
  PolicyPlane,
  type PolicyProblem,
  PolicyProblems,
  PolicyWatches,
  policyPlane,
  readDeniedCounts,
  StandingRules,
} from '../../node/policy/index.ts'
import { NodeWatch } from '../../node/proxy/index.ts'
import { DriftWatch, detectIptables, type Flavour, Iptables, RulesError, RulesWriter } from '../../node/rules/index.ts'
import type { SharedInformers } from '../../node/state/index.ts'
import type { Logger } from '../../observe/index.ts'
import type { AppContext } from '../context.ts'
import type { AgentCore } from './agent-core.ts'
import { hasIpv6 } from './has-ipv6.ts'
import { findNodeName } from './node-identity.ts'
import { createPolicyExplainer, type PolicyExplainer } from './policy-explainer.ts'

/** Enforcement of NetworkPolicies: its components in start order. */
export interface PolicySide {
  /** Whether the kernel tells who changes its rules. */
  readonly isWatchable: boolean
  readonly components: readonly Component[]
  readonly plane: PolicyPlane
  readonly families: readonly Pick<PolicyFamily, 'family' | 'writer'>[]
  readonly explainer: PolicyExplainer
  /** Creates the informers for the server's dialect. */
  createSources(dialect: Dialect, shared: SharedInformers): readonly Component[]
}

interface PolicyFamily {
  readonly family: IpFamily
  readonly flavour: Flavour
  readonly writer: RulesWriter
  readonly plan: LivePlan
  readonly rules: StandingRules
  readonly cutter: FlowCutter
}

interface Shared {
  readonly sources: AgentCore
  readonly log: Logger
  readonly state: ClusterState
  readonly socket: NetfilterSocket | undefined
  readonly cutterMetricsOf: ReturnType<typeof createFlowCutterMetrics>
}

/**
 * Composes the enforcement of NetworkPolicies. A family that cannot be served, a missing ipset or a bridge that passes packets by does not end the
 * start: the health of the plane says that policies are not enforced.
 */
export async function composePolicy(sources: AgentCore): Promise<PolicySide> {
  const { context, client, state: nodeState, applied, run } = sources
  const log = context.logging.logger('platform_network_policy')
  const state = new ClusterState()
  addClusterDns(context, state)
  const cutterMetricsOf = createFlowCutterMetrics(context.metrics)
  const shared = { sources, log, state, socket: NetfilterSocket.open(), cutterMetricsOf }
  const wanted: readonly IpFamily[] = hasIpv6() ? ['IPv4', 'IPv6'] : ['IPv4']
  const results = await Promise.allSettled(wanted.map((family) => composeFamily(shared, family)))
  const families = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const unserved = results.flatMap((result) => (result.status === 'rejected' ? [describeError(result.reason)] : []))
  const events = policyEvents(client, log)
  const problems = new PolicyProblems(events.record)
  const lists = new ListedCollections()
  applied.register(policyPlane)
  const plane = new PolicyPlane({
    families,
    state,
    lists,
    problems,
    nodeState,
    applied,
    findObstacles: createObstacleSearch(unserved, wanted, run),
    metrics: createPolicyMetrics(context.metrics, wanted),
    log,
    tracer: context.tracer,
  })
  const readable = families.map(({ family, writer }) => ({
    family,
    membersOf: (set: string) => writer.membersOf(set),
  }))
  collectPolicyCounts(context.metrics, {
    state,
    problems,
    isEnforcing: () => plane.isEnforcing,
    readDenied: () => readDeniedCounts(readable, state),
  })
  const denials = composeDenialLog(shared, readable)
  const nodeName = findNodeName(context.options.values.node.nodeName)
  let lookup: ClusterLookup | undefined
  return {
    isWatchable: families.some(({ flavour }) => flavour === 'nft'),
    components: [...families.flatMap(({ writer, cutter }) => [writer, cutter]), plane, ...denials],
    plane,
    families,
    explainer: composeExplainer({ families, plane, state, nodeName, lookup: () => lookup }),
    createSources: (dialect, { namespaces }) => {
      events.setDialect(dialect)
      lookup = createClusterLookup(client, dialect, nodeName)
      const parts = { client, dialect, nodeName, log: log.child('client') }
      const onTrace: PolicyPlane['addTrace'] = (trace) => plane.addTrace(trace)
      const watches = new PolicyWatches({
        ...parts,
        namespaces,
        state,
        lists,
        problems,
        tracer: context.tracer,
        onTrace,
      })
      return [watches, ...composeNodeWatch(shared, { families, plane, lists }, parts)]
    },
  }
}

function composeExplainer({
  families,
  plane,
  state: cluster,
  nodeName,
  lookup,
}: {
  readonly families: readonly PolicyFamily[]
  readonly plane: PolicyPlane
  readonly state: ClusterState
  readonly nodeName: string
  readonly lookup: () => ClusterLookup | undefined
}): PolicyExplainer {
  return createPolicyExplainer({
    cluster,
    nodeName,
    lookup,
    caveat: () => plane.caveat(),
    ownAddresses: localAddresses,
    isIsolatedUnknown: (address) => families.some(({ plan }) => plan.isolatesUnknown(address)),
  })
}

/** Tries the parts of the kernel until they work; looks at programs and settings each time. */
function createObstacleSearch(unserved: readonly string[], families: readonly IpFamily[], run: Run) {
  let hasParts = false
  return async () => {
    const missing = hasParts ? [] : await findMissingParts(run)
    hasParts = missing.length === 0
    return [...unserved, ...missing, ...(await findPolicyObstacles({ families, run }))]
  }
}

async function composeFamily(
  { sources, log: base, socket, cutterMetricsOf }: Shared,
  family: IpFamily,
): Promise<PolicyFamily> {
  const { context, run, monitor, repairs } = sources
  const log = family === 'IPv4' ? base : base.child('ipv6')
  const choice = await detectIptables(run, family, 'auto')
  const iptables = new Iptables(choice, run)
  if ((await iptables.listChain('mangle', 'FORWARD')) === undefined)
    throw new RulesError('save-failed', `${choice.program} cannot use the table mangle of ${family} on this node`)
  const rulesLog = log.child('rules')
  const isWatched = () => choice.flavour === 'nft' && monitor.isListening
  const observer = repairs('policies', family)
  const parts = { iptables, socket, hooks: policyHooks(), log: rulesLog, isWatched, observer }
  const writer = new RulesWriter({ ...parts, tables: ['mangle'] })
  if (choice.flavour === 'nft') monitor.subscribe(new DriftWatch({ family, writer, log: rulesLog }))
  const plan = new LivePlan(ruleSettings(context, family, []))
  const rules = new StandingRules()
  const cutter = createFlowCutter({
    family,
    run,
    socket,
    plan,
    rules,
    membersOf: (set) => writer.membersOf(set),
    nodeAddresses: localAddresses,
    metrics: cutterMetricsOf(family),
    log: log.child('conntrack'),
  })
  return { family, flavour: choice.flavour, writer, plan, rules, cutter }
}

function ruleSettings(
  { options }: AppContext,
  family: IpFamily,
  podCidrs: PolicyRuleSettings['podCidrs'],
): PolicyRuleSettings {
  const { policy } = options.values
  return {
    family,
    dnsAddresses: dnsAddresses(options.values),
    podCidrs,
    isolatesUnknown: policy.policyUnknownPods === 'deny',
    logsDenied: policy.policyLogDenied !== undefined,
  }
}

function dnsAddresses({ app, dns }: AppContext['options']['values']): readonly Ip[] {
  return app.components.includes('dns') ? dns.clusterDns : []
}

/** The cluster DNS addresses that this node answers count as a pod: no name of a pod has an @. */
function addClusterDns({ options }: AppContext, state: ClusterState): void {
  const ips = dnsAddresses(options.values)
  if (ips.length === 0) return
  const { namespace, name, labels, ports } = clusterDnsPod()
  const key = objectKey(namespace, `${name}@this-node`)
  const life = { uid: '', isLocal: true, isOutside: false, isTerminating: false, createdAtMs: 0 }
  state.setPods(new Map([[key, { key, namespace, labels, ports, ips, ...life }]]))
}

/** The networks of this node's pods matter only where unknown addresses of them are isolated. */
function composeNodeWatch(
  { sources: { context } }: Shared,
  enforcement: {
    readonly families: readonly PolicyFamily[]
    readonly plane: PolicyPlane
    readonly lists: ListedCollections
  },
  parts: { readonly client: ApiClient; readonly dialect: Dialect; readonly nodeName: string; readonly log: Logger },
): readonly Component[] {
  if (context.options.values.policy.policyUnknownPods === 'allow') return []
  const { families, plane, lists } = enforcement
  const name = 'the Node of this agent'
  lists.want(name)
  return [
    new NodeWatch({
      ...parts,
      name: 'policy-node',
      onNode: (node) => {
        for (const { family, plan } of families) plan.configure(ruleSettings(context, family, node?.podCidrs ?? []))
        lists.listed(name)
        plane.replan()
      },
    }),
  ]
}

function composeDenialLog(
  { sources: { context }, log, state }: Shared,
  families: ConstructorParameters<typeof DenialLog>[0]['families'],
): readonly Component[] {
  const seconds = context.options.values.policy.policyLogDenied
  if (seconds === undefined) return []
  const isNodeAddress = (address: Ip) => localAddresses().has(address)
  return [new DenialLog({ families, state, isNodeAddress, intervalMs: seconds * 1000, log: log.child('denied') })]
}

/** Writes an Event on the policy for each new problem, once the dialect of the server is known. */
function policyEvents(client: ApiClient, log: Logger) {
  const recorder = new ApiEventRecorder(client, 'platnet-policy', log.child('events'))
  let group: string | undefined
  return {
    setDialect: ({ groups }: Dialect) => {
      group = groups.networking
    },
    record: ({ policy, uid, reason, messages }: PolicyProblem) => {
      if (group === undefined || uid === undefined) return
      const [namespace, name = ''] = policy.split('/')
      const subject = { apiVersion: `${group}/v1`, kind: 'NetworkPolicy', metadata: { name, namespace, uid } }
      recorder.record(subject, 'Warning', reason, messages.join('; '))
    },
  }
}
