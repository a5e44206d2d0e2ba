import { z } from 'zod'
import { type ApiClient, ApiError } from '../../client/index.ts'
import type { ConsoleAnswer } from '../../console/index.ts'
import { policyMatrix } from '../../node/policy/index.ts'
import { describeIssues } from './flow-question.ts'
import { listPolicyCluster } from './policy-cluster.ts'

/** Limit of the pods in a matrix that a daemon computes: it has other work on the same thread. */
const maxPods = 3_000

const matrixQuery = z.object({
  namespace: z.string().regex(/^[a-z0-9-]{1,63}$/, 'expected the name of a namespace'),
})

/** Answers `/policy/namespaces` and `/policy/matrix`. */
export function policyQuestions(client: ApiClient) {
  return {
    '/policy/namespaces': () =>
      orForbidden(async () => {
        const { namespaces, policies } = await listPolicyCluster(client)
        const counts = new Map<string, number>()
        for (const { namespace } of policies()) counts.set(namespace, (counts.get(namespace) ?? 0) + 1)
        const named = namespaces.map((name) => ({ name, policies: counts.get(name) ?? 0 }))
        return { status: 200, body: named.sort((one, other) => (one.name < other.name ? -1 : 1)) }
      }),
    '/policy/matrix': (query: URLSearchParams) =>
      orForbidden(async () => {
        const parsed = matrixQuery.safeParse(Object.fromEntries(query))
        if (!parsed.success) return { status: 400, body: { error: describeIssues(parsed.error) } }
        return answerMatrix(client, parsed.data.namespace)
      }),
  }
}

async function answerMatrix(client: ApiClient, namespace: string): Promise<ConsoleAnswer> {
  const cluster = await listPolicyCluster(client)
  if (!cluster.namespaces.includes(namespace))
    return { status: 404, body: { error: `the cluster has no namespace ${namespace}` } }
  const pods = [...cluster.pods()].length
  if (pods > maxPods) {
    const error = `the cluster has ${pods} pods, too many for this process: run "platnet policy matrix -n ${namespace}"`
    return { status: 503, body: { error } }
  }
  return { status: 200, body: { matrix: policyMatrix(cluster, namespace), problems: cluster.problems } }
}

async function orForbidden(answer: () => Promise<ConsoleAnswer>): Promise<ConsoleAnswer> {
  try {
    return await answer()
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'forbidden') throw error
    return { status: 403, body: { error: `the API server does not let this process read that: ${error.message}` } }
  }
}
