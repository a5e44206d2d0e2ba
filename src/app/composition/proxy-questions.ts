import { z } from 'zod'
import { suggestName } from '../../config/index.ts'
import { interfaceTowards } from '../../host/index.ts'
import { splitObjectKey } from '../../model/api-object.ts'
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
  readonly rules: Pick<ProxyFamily['rules'], 'writer'> & {
    readonly counters?: { countersOf(table: 'nat', chain: string): Promise<ChainCounters> }
  }
}

/** Answer of `GET /plan`: one entry per plane and address family. */
export interface PlanAnswer {
  readonly families: readonly {
    readonly plane: WrittenRules['plane']
    readonly family: IpFamily
    readonly differences: readonly ChainDifference[]
    /** The reason why the differences are not known; absent where they are. */
    readonly unknown?: string
  }[]
}

/** The rules that one plane writes in one family. */
interface WrittenRules {
  readonly plane: 'proxy' | 'policy'
  readonly family: IpFamily
  readonly writer: { preview(): Promise<readonly ChainDifference[]> }
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

interface Asked {
  /** The proxy; empty where the agent runs without it. */
  readonly families: readonly AskedFamily[]
  /** The rules of network policies; empty where the agent runs without them. */
  readonly policyRules?: readonly Omit<WrittenRules, 'plane'>[]
  readonly interfaceOf?: FlowSources['interfaceOf']
  readonly readChains?: FlowSources['readChains']
  readonly policy?: PolicyExplainer | undefined
}

/** Answers `platnet plan` and `platnet explain` in the running agent. */
export function proxyQuestions({
  families,
  policyRules = [],
  interfaceOf = interfaceTowards,
  readChains = async () => [],
  policy,
}: Asked) {
  const written: readonly WrittenRules[] = [
    ...families.map(({ plane: { family }, rules: { writer } }) => ({ plane: 'proxy', family, writer }) as const),
    ...policyRules.map((rules) => ({ plane: 'policy', ...rules }) as const),
  ]
  const ofProxy = async (answer: () => Promise<ControlAnswer>) => (families.length > 0 ? answer() : withoutProxy)
  const flowSources = { families, interfaceOf, readChains, policy }
  return {
    '/plan': () => answerPlan(written),
    '/explain/flow': async (query: URLSearchParams) =>
      families.length > 0 || policy !== undefined ? answerFlow(flowSources, query) : withoutProxy,
    '/explain/service': (query: URLSearchParams) => ofProxy(() => answerService(families, query)),
  }
}

const withoutProxy: ControlAnswer = {
  status: 503,
  body: { error: 'this agent runs without the proxy (--components)' },
}

/** Rules whose differences are not known do not hide those of others. */
async function answerPlan(written: readonly WrittenRules[]): Promise<ControlAnswer> {
  if (written.length === 0) return withoutRules
  const body: PlanAnswer = { families: await Promise.all(written.map(previewRules)) }
  const reasons = new Set(body.families.map(({ unknown }) => unknown))
  return reasons.has(undefined) ? { status: 200, body } : { status: 503, body: { error: [...reasons].join('; ') } }
}

async function previewRules({ plane, family, writer }: WrittenRules): Promise<PlanAnswer['families'][number]> {
  try {
    return { plane, family, differences: await writer.preview() }
  } catch (error) {
    return { plane, family, differences: [], unknown: describeError(error) }
  }
}

const withoutRules: ControlAnswer = {
  status: 503,
  body: { error: 'this agent runs without the proxy and without network policies (--components)' },
}

async function answerService(families: readonly AskedFamily[], query: URLSearchParams): Promise<ControlAnswer> {
  const parsed = serviceQuery.safeParse(Object.fromEntries(query))
  if (!parsed.success) return refuse(describeIssues(parsed.error))
  const { service } = parsed.data
  const explained = families.flatMap(({ plane, rules }) => {
    const explanation = plane.view.explainService(service)
    return explanation === undefined ? [] : [{ explanation, rules }]
  })
  if (explained.length === 0) return { status: 404, body: { error: describeUnknown(service, families) } }
  const answers = explained.map(async ({ explanation, rules: { counters } }) => {
    const counted = explanation.chains.slice(0, maxCountedChains)
    const found = counters && counted.map(async (chain) => ({ chain, ...(await counters.countersOf('nat', chain)) }))
    return { ...explanation, counters: await Promise.all(found ?? []) }
  })
  const body: ServiceAnswer = { families: await Promise.all(answers) }
  return { status: 200, body }
}

/** Suggests Services of other namespaces and Services with similar names. */
function describeUnknown(service: string, families: readonly AskedFamily[]): string {
  const known = [...new Set(families.flatMap(({ plane }) => [...plane.view.serviceKeys()]))]
  const { namespace, name } = splitObjectKey(service)
  const meant = known.find((key) => key.endsWith(`/${name}`)) ?? suggestBeside(namespace, name, known)
  return `this node knows no Service ${service}${meant === undefined ? '' : `; did you mean ${meant}?`}`
}

function suggestBeside(namespace: string, name: string, known: readonly string[]): string | undefined {
  const names = known.filter((key) => key.startsWith(`${namespace}/`)).map((key) => key.slice(namespace.length + 1))
  const meant = suggestName(name, names)
  return meant && `${namespace}/${meant}`
}
