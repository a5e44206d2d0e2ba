import { z } from 'zod'
import { localAddresses } from '../../host/index.ts'
import { type Ip, type IpFamily, ipFamily, parseIp } from '../../model/ip.ts'
import type { BaseChain } from '../../netfilter/foreign-path.ts'
import { proxyHooks } from '../../netfilter/hooks.ts'
import type { ControlAnswer } from '../../node/control/index.ts'
import type { PolicyExplanation } from '../../node/policy/index.ts'
import type { FlowExplanation } from '../../node/proxy/index.ts'
import type { ProxyFamily } from './compose-proxy.ts'
import type { AddressFlow, PolicyExplainer } from './policy-explainer.ts'

/** The part of a proxy plane that explains packets of one family. */
interface ExplainingPlane extends Pick<ProxyFamily['plane'], 'family' | 'health'> {
  readonly view: Pick<ProxyFamily['plane']['view'], 'isPlanning' | 'explainFlow'>
}

export interface FlowSources {
  /** Empty where the agent runs without the proxy. */
  readonly families: readonly { readonly plane: ExplainingPlane }[]
  readonly interfaceOf: (source: Ip) => Promise<string | undefined>
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

const flowQuery = z.object({
  source: end,
  destination: end,
  port: z.coerce.number(expectedPort).int(expectedPort).min(1, expectedPort).max(65_535, expectedPort),
  protocol: z.enum(['TCP', 'UDP', 'SCTP']).default('TCP'),
  inInterface: z
    .string()
    .regex(/^[\w.-]{1,15}$/, 'expected the name of an interface')
    .optional(),
})

type End = z.infer<typeof end>
type FlowQuery = z.infer<typeof flowQuery>

/** Limit of the destinations whose policies are explained in sentences, of those allowed and of those denied. */
const maxExplained = 3

export async function answerFlow(sources: FlowSources, query: URLSearchParams): Promise<ControlAnswer> {
  const parsed = flowQuery.safeParse(Object.fromEntries(query))
  if (!parsed.success) return refuse(describeIssues(parsed.error))
  const { source, destination, protocol, port, inInterface } = parsed.data
  const unknown = [source, destination].find((each) => addressesOf(each, sources.policy).length === 0)
  if (unknown !== undefined) return refuse(describeUnknownPod(unknown, sources.policy), 404)
  const ends = chooseAddresses(source, destination, sources.policy)
  if (ends === undefined) return refuse('source and destination must be of one IP family')
  const flow = { ...ends, protocol, port }
  const proxied = await explainByProxy(sources, flow, inInterface)
  if ('status' in proxied) return proxied
  return { status: 200, body: joinPolicies(proxied, flow, sources.policy) }
}

/** `source: expected an IP address` */
export function describeIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
}

export function refuse(error: string, status: 400 | 404 = 400): ControlAnswer {
  return { status, body: { error } }
}

function addressesOf(one: End, policy: PolicyExplainer | undefined): readonly Ip[] {
  return 'ip' in one ? [one.ip] : (policy?.ipsOf(one.pod) ?? [])
}

function describeUnknownPod(one: End, policy: PolicyExplainer | undefined): string {
  const name = 'pod' in one ? one.pod : one.ip
  if (policy === undefined)
    return `pods are known by name only where the agent enforces network policies: give the address of ${name}`
  return `this node knows no address of a pod ${name}: it knows its own pods and those that their policies name`
}

/** The first pair of one family. */
function chooseAddresses(
  source: End,
  destination: End,
  policy: PolicyExplainer | undefined,
): Pick<AddressFlow, 'source' | 'destination'> | undefined {
  const targets = addressesOf(destination, policy)
  return addressesOf(source, policy)
    .flatMap((from) =>
      targets.filter((to) => ipFamily(to) === ipFamily(from)).map((to) => ({ source: from, destination: to })),
    )
    .at(0)
}

async function explainByProxy(
  { families, interfaceOf, readChains }: FlowSources,
  { source, destination, protocol, port }: AddressFlow,
  asked: FlowQuery['inInterface'],
): Promise<FlowExplanation | ControlAnswer> {
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
  const world = { hooks: proxyHooks(), isLocalAddress: (ip: Ip) => own.has(ip) }
  return found.plane.view.explainFlow(packet, world, await readChains(family))
}

const withoutProxy: FlowExplanation = {
  services: [],
  outcomes: [],
  reasons: [],
  lines: ['This agent runs without the proxy, so the address is taken for the destination.'],
}

/** Adds what the policies say of each destination that the packet may get to; they see the source before masquerading. */
function joinPolicies(proxied: FlowExplanation, flow: AddressFlow, policy: PolicyExplainer | undefined): FlowAnswer {
  if (policy === undefined) return { ...proxied, policies: [] }
  const asked = { address: flow.destination, port: flow.port }
  const passing = proxied.outcomes.filter(({ verdict }) => verdict === 'accept').map(({ destination }) => destination)
  const destinations = proxied.outcomes.length === 0 ? [asked] : passing
  const explained = policy.explain(destinations.map(({ address, port }) => ({ ...flow, destination: address, port })))
  const policies = explained.map((each, index) => ({ ...each, destination: destinations[index] ?? asked }))
  const caveat = policy.caveat()
  return {
    ...proxied,
    policies,
    lines: [
      ...proxied.lines,
      ...describePolicies(policies, true),
      ...describePolicies(policies, false),
      ...(caveat === undefined || policies.length === 0
        ? []
        : [`This node does not enforce network policies: ${caveat}`]),
    ],
  }
}

function describePolicies(policies: FlowAnswer['policies'], isAllowed: boolean): readonly string[] {
  const alike = policies.filter((each) => each.isAllowed === isAllowed)
  const more = alike.length - maxExplained
  return [
    ...alike.slice(0, maxExplained).flatMap(({ lines }) => lines),
    ...(more > 0 ? [`Network policies ${isAllowed ? 'allow' : 'deny'} ${more} more of these destinations.`] : []),
  ]
}
