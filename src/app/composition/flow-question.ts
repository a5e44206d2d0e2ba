import { z } from 'zod'
import { localAddresses } from '../../host/index.ts'
import { type Ip, type IpFamily, ipFamily, parseIp, renderAddressPort } from '../../model/ip.ts'
import type { BaseChain } from '../../netfilter/foreign-path.ts'
import type { ControlAnswer } from '../../node/control/index.ts'
import type { AddressFlow, PolicyExplanation } from '../../node/policy/index.ts'
import type { FlowExplanation } from '../../node/proxy/index.ts'
import type { ProxyFamily } from './compose-proxy.ts'
import type { PolicyExplainer } from './policy-explainer.ts'

/** The part of a proxy plane that explains packets of one family. */
interface ExplainingPlane extends Pick<ProxyFamily['plane'], 'family' | 'health'> {
  readonly view: Pick<ProxyFamily['plane']['view'], 'isPlanning' | 'explainFlow'>
}

export interface FlowSources {
  /** Empty where the agent runs without the proxy. */
  readonly families: readonly { readonly plane: ExplainingPlane }[]
  /** The link of the route to an address; undefined without a route. */
  readonly interfaceOf: (address: Ip) => Promise<string | undefined>
  /** The base chains of the kernel that packets of an address family pass. */
  readonly readChains: (family: IpFamily) => Promise<readonly BaseChain[]>
  /** Undefined where the agent runs without network policies. */
  readonly policy: PolicyExplainer | undefined
}

/** Answer of `GET /explain/flow`: the proxy first, then the network policies for each destination that it chooses. */
export interface FlowAnswer extends FlowExplanation {
  /** One for each destination; empty where the agent runs without network policies. */
  readonly policies: readonly (PolicyExplanation & {
    readonly destination: { readonly address: Ip; readonly port: number }
  })[]
}

/** An address, or the key of a pod. */
const end = z.string().transform((text, context) => {
  const ip = parseIp(text)
  if (ip !== undefined) return { ip }
  if (/^[a-z0-9-]{1,63}\/[a-z0-9.-]{1,253}$/.test(text)) return { pod: text }
  context.issues.push({ code: 'custom', input: text, message: 'expected an IP address or NAMESPACE/NAME of a pod' })
  return z.NEVER
})

const expectedPort = 'expected a port from 1 to 65535'

const port = z.coerce.number(expectedPort).int(expectedPort).min(1, expectedPort).max(65_535, expectedPort)

const flowQuery = z.object({
  source: end,
  destination: end,
  /** Not looked at for ICMP. */
  port: port.optional(),
  protocol: z.enum(['TCP', 'UDP', 'SCTP', 'ICMP']).default('TCP'),
  inInterface: z
    .string()
    .regex(/^[\w.-]{1,15}$/, 'expected the name of an interface')
    .optional(),
})

type FlowQuery = z.infer<typeof flowQuery>
type Question = ReturnType<PolicyExplainer['open']>

/** Limit of the destinations whose policies are explained in sentences, of those allowed and of those denied. */
const maxExplained = 3
/** Limit of the other destinations that are named. */
const maxNamed = 20

export async function answerFlow(sources: FlowSources, query: URLSearchParams): Promise<ControlAnswer> {
  const parsed = flowQuery.safeParse(Object.fromEntries(query))
  if (!parsed.success) return refuse(describeIssues(parsed.error))
  if (parsed.data.protocol !== 'ICMP' && parsed.data.port === undefined) return refuse(`port: ${expectedPort}`)
  const question = sources.policy?.open()
  const ends = await findEnds(parsed.data, question)
  if ('status' in ends) return ends
  const flow = { ...ends, ...serviceOf(parsed.data) }
  const proxied = await explainByProxy(sources, flow, parsed.data.inInterface)
  if ('status' in proxied) return proxied
  return { status: 200, body: await joinPolicies({ proxied, flow, notes: ends.notes }, question, sources.policy) }
}

function serviceOf({ protocol, port = 0 }: FlowQuery): Pick<AddressFlow, 'protocol' | 'port'> {
  return protocol === 'ICMP' ? { protocol: 'other', port: 0 } : { protocol, port }
}

interface Ends extends Pick<AddressFlow, 'source' | 'destination'> {
  readonly notes: readonly string[]
}

/** Finds the first pair of addresses of one family. */
async function findEnds(
  { source, destination }: FlowQuery,
  question: Question | undefined,
): Promise<Ends | ControlAnswer> {
  const found: (readonly Ip[])[] = []
  const notes: string[] = []
  for (const end of [source, destination]) {
    const one = await findEnd(end, question)
    if ('status' in one) return one
    found.push(one.addresses)
    notes.push(...one.notes)
  }
  const [from = [], to = []] = found
  const [pair] = from.flatMap((ip) =>
    to.filter((other) => ipFamily(other) === ipFamily(ip)).map((other) => [ip, other]),
  )
  const [first, second] = pair ?? []
  if (first === undefined || second === undefined) return refuse('source and destination must be of one IP family')
  return { source: first, destination: second, notes }
}

async function findEnd(end: FlowQuery['source'], question: Question | undefined) {
  if (question !== undefined) {
    const found = await question.find(end)
    return 'fault' in found ? refuse(found.fault, found.isUnavailable ? 503 : 404) : found
  }
  if ('ip' in end) return { addresses: [end.ip], notes: [] }
  const where = 'pods are known by name only where the agent enforces network policies'
  return refuse(`${where}: give the address of ${end.pod}`, 404)
}

/** `source: expected an IP address` */
export function describeIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
}

export function refuse(error: string, status: 400 | 404 | 503 = 400): ControlAnswer {
  return { status, body: { error } }
}

async function explainByProxy(
  { families, interfaceOf, readChains }: FlowSources,
  { source, destination, protocol, port }: AddressFlow,
  asked: FlowQuery['inInterface'],
): Promise<FlowExplanation | ControlAnswer> {
  if (protocol === 'other') return withoutPorts
  if (families.length === 0) return withoutProxy
  const family = ipFamily(destination)
  const found = families.find(({ plane }) => plane.family === family)
  if (found === undefined) return { status: 503, body: { error: `this node does not serve ${family}` } }
  if (found.plane.view.isPlanning) {
    const why = found.plane.health().message
    return {
      status: 503,
      body: { error: `the wanted rules are not complete yet, ask again in a few seconds: ${why}` },
    }
  }
  const own = localAddresses()
  const isOwn = own.has(source)
  const inInterface = asked ?? (isOwn ? undefined : await interfaceOf(source))
  const packet = {
    protocol,
    port,
    source,
    destination,
    state: 'NEW',
    origin: isOwn ? 'this-node' : 'elsewhere',
    ...(inInterface !== undefined && { inInterface }),
  } as const
  const world = { isLocalAddress: (ip: Ip) => own.has(ip) }
  const explained = found.plane.view.explainFlow(packet, world, await readChains(family))
  const isUnreachable = isOwn && explained.services.length > 0 && (await interfaceOf(destination)) === undefined
  return isUnreachable ? { ...explained, lines: [describeMissingRoute(destination), ...explained.lines] } : explained
}

/** The kernel looks for a route before it shows a packet of a program here to any rule. */
function describeMissingRoute(destination: Ip): string {
  return `This node finds no route to ${destination} (ip route get ${destination}), so its own programs get "Network is unreachable" and none of the rules below is met.`
}

const nothingTraced = { services: [], outcomes: [], reasons: [] }

const withoutProxy: FlowExplanation = {
  ...nothingTraced,
  lines: ['This agent runs without the proxy, so the address is taken for the destination.'],
}

const withoutPorts: FlowExplanation = {
  ...nothingTraced,
  lines: [
    'Rules of Services take TCP, UDP and SCTP only, so the address is taken for the destination.',
    'ICMP errors about a connection that is allowed always pass.',
  ],
}

interface Traced {
  readonly proxied: FlowExplanation
  readonly flow: AddressFlow
  readonly notes: readonly string[]
}

/** Adds the verdict of the policies on each destination that the packet may get to; they see the source before masquerading. */
async function joinPolicies(
  { proxied, flow, notes }: Traced,
  question: Question | undefined,
  policy: PolicyExplainer | undefined,
): Promise<FlowAnswer> {
  if (question === undefined || policy === undefined) return { ...proxied, policies: [] }
  const { flows, notes: ways } = await followPorts(question, destinationsOf(proxied, flow))
  const explained = await question.explain(flows)
  const policies = explained.map((each, index) => {
    const { destination: address, port } = flows[index] ?? flow
    return { ...each, destination: { address, port } }
  })
  const caveat = policy.caveat()
  return {
    ...proxied,
    policies,
    lines: [
      ...notes,
      ...proxied.lines,
      ...(await describeRemoteSource(question, policy, proxied, flow)),
      ...ways,
      ...describePolicies(policies, true),
      ...describePolicies(policies, false),
      ...(caveat === undefined || policies.length === 0
        ? []
        : [`This node does not enforce network policies: ${caveat}`]),
    ],
  }
}

function destinationsOf({ outcomes }: FlowExplanation, flow: AddressFlow): readonly AddressFlow[] {
  if (outcomes.length === 0) return [flow]
  return outcomes
    .filter(({ verdict }) => verdict === 'accept')
    .map(({ destination: { address, port }, masqueraded }) => ({
      ...flow,
      destination: address,
      port,
      isMasqueraded: masqueraded,
    }))
}

/** Follows ports of nodes that lead to a pod (`hostPort`): policies see the pod's own address and port. */
async function followPorts(question: Question, flows: readonly AddressFlow[]) {
  const notes: string[] = []
  const followed: AddressFlow[] = []
  for (const flow of flows) {
    const { protocol, destination, port } = flow
    const behind = protocol === 'other' ? undefined : await question.behindHostPort(destination, protocol, port)
    followed.push(behind === undefined ? flow : { ...flow, destination: behind.address, port: behind.port })
    if (behind !== undefined)
      notes.push(
        `Port ${port} of ${destination} is a host port of pod ${behind.pod}, which gets it at port ${behind.port}.`,
      )
  }
  return { flows: followed, notes }
}

/** Another node translates the addresses of Services for its own pods, by rules that may choose other endpoints. */
async function describeRemoteSource(
  question: Question,
  { nodeName }: PolicyExplainer,
  { services }: FlowExplanation,
  { source }: AddressFlow,
): Promise<readonly string[]> {
  if (services.length === 0) return []
  const node = await question.nodeOf(source)
  if (node === undefined || node === nodeName) return []
  return [
    `${source} is on node ${node}, which chooses the endpoint; the rules of Services above are those of ${nodeName}.`,
  ]
}

function describePolicies(policies: FlowAnswer['policies'], isAllowed: boolean): readonly string[] {
  const alike = policies.filter((each) => each.isAllowed === isAllowed)
  const more = alike.length - maxExplained
  return [
    ...alike.slice(0, maxExplained).flatMap(({ lines }) => lines),
    ...(more > 0 ? [`Network policies ${isAllowed ? 'allow' : 'deny'} ${more} more: ${nameDestinations(alike)}.`] : []),
  ]
}

function nameDestinations(policies: FlowAnswer['policies']): string {
  const names = policies
    .slice(maxExplained)
    .map(({ destination: { address, port } }) => renderAddressPort(address, port))
  return names.length > maxNamed ? `${names.slice(0, maxNamed).join(', ')}, …` : names.join(', ')
}
