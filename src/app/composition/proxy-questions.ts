import { z } from 'zod'
import { suggestName } from '../../config/index.ts'
import { interfaceTowards, localAddresses } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import { type Ip, type IpFamily, ipFamily, parseIp } from '../../model/ip.ts'
import type { BaseChain } from '../../netfilter/foreign-path.ts'
import { proxyHooks } from '../../netfilter/hooks.ts'
import type { ControlAnswer } from '../../node/control/index.ts'
import type { FlowExplanation, ServiceExplanation } from '../../node/proxy/index.ts'
import type { ChainCounters, ChainDifference } from '../../node/rules/index.ts'
import type { ProxyFamily } from './compose-proxy.ts'

interface AskedFamily {
  readonly plane: ProxyFamily['plane']
  readonly writer: Pick<ProxyFamily['writer'], 'preview' | 'countersOf'>
}

/** The base chains of the kernel that packets of an address family pass. */
type ReadChains = (family: IpFamily) => Promise<readonly BaseChain[]>

/** Answer of `GET /plan`: one entry per address family. */
export interface PlanAnswer {
  readonly families: readonly { readonly family: IpFamily; readonly differences: readonly ChainDifference[] }[]
}

/** Answer of `GET /explain/service`. */
export interface ServiceAnswer {
  readonly families: readonly (ServiceExplanation & {
    readonly counters: readonly (ChainCounters & { readonly chain: string })[]
  })[]
}

const address = z.string().transform((text, context) => {
  const ip = parseIp(text)
  if (ip !== undefined) return ip
  context.issues.push({ code: 'custom', input: text, message: 'expected an IP address' })
  return z.NEVER
})

const expectedPort = 'expected a port from 1 to 65535'

const flowQuery = z.object({
  source: address,
  destination: address,
  port: z.coerce.number(expectedPort).int(expectedPort).min(1, expectedPort).max(65_535, expectedPort),
  protocol: z.enum(['TCP', 'UDP', 'SCTP']).default('TCP'),
  inInterface: z
    .string()
    .regex(/^[\w.-]{1,15}$/, 'expected the name of an interface')
    .optional(),
})

const serviceQuery = z.object({
  service: z.string().regex(/^[a-z0-9-]{1,63}\/[a-z0-9-]{1,63}$/, 'expected NAMESPACE/NAME of a Service'),
})

/** Limit of listed chains: a Service with hundreds of endpoints has as many chains, and one program run lists each. */
const maxCountedChains = 50

/** Answers `platnet plan` and `platnet explain` in the running agent. */
export function proxyQuestions(
  families: readonly AskedFamily[],
  interfaceOf: (source: Ip) => Promise<string | undefined> = interfaceTowards,
  readChains: ReadChains = async () => [],
) {
  const ofProxy = async (answer: () => Promise<ControlAnswer>) => (families.length > 0 ? answer() : withoutProxy)
  return {
    '/plan': () => ofProxy(() => answerPlan(families)),
    '/explain/flow': (query: URLSearchParams) => ofProxy(() => answerFlow(families, query, interfaceOf, readChains)),
    '/explain/service': (query: URLSearchParams) => ofProxy(() => answerService(families, query)),
  }
}

const withoutProxy: ControlAnswer = {
  status: 503,
  body: { error: 'this agent runs without the proxy (--components)' },
}

async function answerPlan(families: readonly AskedFamily[]): Promise<ControlAnswer> {
  try {
    const previews = families.map(async ({ plane, writer }) => ({
      family: plane.family,
      differences: await writer.preview(),
    }))
    const body: PlanAnswer = { families: await Promise.all(previews) }
    return { status: 200, body }
  } catch (error) {
    return { status: 503, body: { error: describeError(error) } }
  }
}

async function answerFlow(
  families: readonly AskedFamily[],
  query: URLSearchParams,
  interfaceOf: (source: Ip) => Promise<string | undefined>,
  readChains: ReadChains,
): Promise<ControlAnswer> {
  const parsed = flowQuery.safeParse(Object.fromEntries(query))
  if (!parsed.success) return refuse(describeIssues(parsed.error))
  const { source, destination, inInterface: asked, ...rest } = parsed.data
  const family = ipFamily(destination)
  if (ipFamily(source) !== family) return refuse('source and destination must be of one IP family')
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
    ...rest,
    source,
    destination,
    state: 'NEW',
    origin: isOwn ? 'this-node' : 'elsewhere',
    ...(inInterface !== undefined && { inInterface }),
  } as const
  const world = { hooks: proxyHooks(), isLocalAddress: (ip: typeof source) => own.has(ip) }
  const body: FlowExplanation = found.plane.view.explainFlow(packet, world, await readChains(family))
  return { status: 200, body }
}

async function answerService(families: readonly AskedFamily[], query: URLSearchParams): Promise<ControlAnswer> {
  const parsed = serviceQuery.safeParse(Object.fromEntries(query))
  if (!parsed.success) return refuse(describeIssues(parsed.error))
  const { service } = parsed.data
  const explained = families.flatMap(({ plane, writer }) => {
    const explanation = plane.view.explainService(service)
    return explanation === undefined ? [] : [{ explanation, writer }]
  })
  if (explained.length === 0) return { status: 404, body: { error: describeUnknown(service, families) } }
  const answers = explained.map(async ({ explanation, writer }) => {
    const counted = explanation.chains.slice(0, maxCountedChains)
    const counters = counted.map(async (chain) => ({ chain, ...(await writer.countersOf('nat', chain)) }))
    return { ...explanation, counters: await Promise.all(counters) }
  })
  const body: ServiceAnswer = { families: await Promise.all(answers) }
  return { status: 200, body }
}

/** `source: expected an IP address` */
function describeIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
}

/** Suggests Services of other namespaces and Services with similar names. */
function describeUnknown(service: string, families: readonly AskedFamily[]): string {
  const known = [...new Set(families.flatMap(({ plane }) => [...plane.view.serviceKeys()]))]
  const [namespace = '', name = ''] = service.split('/')
  const meant = known.find((key) => key.endsWith(`/${name}`)) ?? suggestBeside(namespace, name, known)
  return `this node knows no Service ${service}${meant === undefined ? '' : `; did you mean ${meant}?`}`
}

function suggestBeside(namespace: string, name: string, known: readonly string[]): string | undefined {
  const names = known.filter((key) => key.startsWith(`${namespace}/`)).map((key) => key.slice(namespace.length + 1))
  const meant = suggestName(name, names)
  return meant && `${namespace}/${meant}`
}

function refuse(error: string): ControlAnswer {
  return { status: 400, body: { error } }
}
