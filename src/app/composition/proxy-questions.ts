import { z } from 'zod'
import { suggestName } from '../../config/index.ts'
import { interfaceTowards } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { ControlAnswer } from '../../node/control/index.ts'
import type { ServiceExplanation } from '../../node/proxy/index.ts'
import type { ChainCounters, ChainDifference } from '../../node/rules/index.ts'
import type { ProxyFamily } from './compose-proxy.ts'
import { answerFlow, describeIssues, type FlowSources, refuse } from './flow-question.ts'
import type { PolicyExplainer } from './policy-explainer.ts'

interface AskedFamily {
  readonly plane: ProxyFamily['plane']
  readonly writer: Pick<ProxyFamily['writer'], 'preview' | 'countersOf'>
}

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

const serviceQuery = z.object({
  service: z.string().regex(/^[a-z0-9-]{1,63}\/[a-z0-9-]{1,63}$/, 'expected NAMESPACE/NAME of a Service'),
})

/** Limit of listed chains: a Service with hundreds of endpoints has as many chains, and one program run lists each. */
const maxCountedChains = 50

/** Answers `platnet plan` and `platnet explain` in the running agent. */
export function proxyQuestions(
  families: readonly AskedFamily[],
  interfaceOf: FlowSources['interfaceOf'] = interfaceTowards,
  readChains: FlowSources['readChains'] = async () => [],
  policy?: PolicyExplainer,
) {
  const ofProxy = async (answer: () => Promise<ControlAnswer>) => (families.length > 0 ? answer() : withoutProxy)
  const flowSources = { families, interfaceOf, readChains, policy }
  return {
    '/plan': () => ofProxy(() => answerPlan(families)),
    '/explain/flow': async (query: URLSearchParams) =>
      families.length > 0 || policy !== undefined ? answerFlow(flowSources, query) : withoutProxy,
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
