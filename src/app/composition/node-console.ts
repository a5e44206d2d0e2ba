import { z } from 'zod'
import type { ApiClient } from '../../client/index.ts'
import { type Console, type ConsoleAnswer, type ConsoleSource, createConsole, nodeCharts } from '../../console/index.ts'
import { endpointChain, serviceChain } from '../../netfilter/names.ts'
import type { DnsPlane } from '../../node/dns/index.ts'
import type { ServiceExplanation } from '../../node/proxy/index.ts'
import type { ChainCounters } from '../../node/rules/index.ts'
import type { LiveNodeState } from '../../node/state/index.ts'
import { type Logger, readBuildInfo } from '../../observe/index.ts'
import type { AppContext } from '../context.ts'
import { readMetrics } from './agent-counters.ts'
import type { AgentStatus } from './agent-status.ts'
import type { ProxyFamily } from './compose-proxy.ts'
import { policyQuestions } from './console-questions.ts'
import { describeIssues } from './flow-question.ts'

export interface NodeConsoleParts {
  readonly context: AppContext
  readonly nodeName: string
  readonly client: ApiClient
  readonly state: LiveNodeState
  readonly dns: Pick<DnsPlane, 'read'> | undefined
  readonly families: readonly CountedFamily[]
  readonly status: () => AgentStatus
  /** The questions that the control socket answers. */
  readonly questions: ConsoleSource['questions']
  /** Whether `platnet run` supervises this agent, with a console of the cluster beside it. */
  readonly isBesideServer: boolean
  readonly log: Logger
}

interface CountedFamily {
  readonly plane: Pick<ProxyFamily['plane'], 'view'>
  readonly rules: Pick<ProxyFamily['rules'], 'counters'>
}

/** The console of one node: what its planes serve. */
export function createNodeConsole(parts: NodeConsoleParts): Promise<Console> {
  const { context, nodeName, client, state, dns, families, status, questions, isBesideServer, log } = parts
  const { values } = context.options
  return createConsole({
    scope: 'node',
    title: nodeName,
    version: readBuildInfo().version,
    links: isBesideServer ? [{ label: 'Cluster', port: values.console.serverConsolePort }] : [],
    charts: nodeCharts,
    read: (names) => readMetrics(context, dns, names),
    open: async () => ({ services: state, documents: { status }, close: async () => {} }),
    questions: {
      ...questions,
      ...policyQuestions(client),
      '/service': (query) => answerService(families, query),
    },
    log,
  })
}

const serviceQuery = z.object({
  service: z.string().regex(/^[a-z0-9-]{1,63}\/[a-z0-9.-]{1,253}$/, 'expected NAMESPACE/NAME of a Service'),
})

/** Limit of the ports whose chains are listed for one answer: each takes a run of iptables. */
const maxCountedPorts = 8

/**
 * Explains a Service with how many connections each endpoint got since its rules were written. A family that does not serve it is left out
 * where the other one does.
 */
async function answerService(families: readonly CountedFamily[], query: URLSearchParams): Promise<ConsoleAnswer> {
  const parsed = serviceQuery.safeParse(Object.fromEntries(query))
  if (!parsed.success) return { status: 400, body: { error: describeIssues(parsed.error) } }
  const answers = families.flatMap(({ plane, rules: { counters } }) => {
    const explained = plane.view.explainService(parsed.data.service)
    return explained === undefined ? [] : [countConnections(explained, counters)]
  })
  const explained = await Promise.all(answers)
  if (explained.length === 0)
    return {
      status: 404,
      body: { error: `this node knows no Service ${parsed.data.service}, or runs without the proxy` },
    }
  const served = explained.filter(({ ports }) => ports.length > 0)
  return { status: 200, body: { families: served.length > 0 ? served : explained } }
}

/** In the mode nftables no rule counts connections. */
async function countConnections(
  { ports, chains, ...rest }: ServiceExplanation,
  counters: CountedFamily['rules']['counters'],
) {
  if (counters === undefined) return { ...rest, ports }
  const counted = ports.slice(0, maxCountedPorts).map(async (port) => {
    const balancing = (['SVC', 'SVL'] as const).map((kind) => serviceChain(port.servicePort, port.protocol, kind))
    const jumps = await Promise.all(
      balancing.filter((chain) => chains.includes(chain)).map((chain) => counters.jumpsOf('nat', chain)),
    )
    const endpoints = port.endpoints.map((endpoint) => ({ ...endpoint, ...connectionsOf(port, endpoint, jumps) }))
    return { ...port, endpoints }
  })
  return { ...rest, ports: [...(await Promise.all(counted)), ...ports.slice(maxCountedPorts)] }
}

type Port = ServiceExplanation['ports'][number]

function connectionsOf(
  { servicePort, protocol }: Port,
  { address, port, isUsed }: Port['endpoints'][number],
  jumps: readonly ReadonlyMap<string, ChainCounters>[],
): { readonly connections?: number } {
  if (!isUsed) return {}
  const chain = endpointChain(servicePort, protocol, address, port)
  return { connections: jumps.reduce((sum, each) => sum + (each.get(chain)?.packets ?? 0), 0) }
}
