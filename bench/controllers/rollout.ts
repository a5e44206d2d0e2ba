import { setTimeout as sleep } from 'node:timers/promises'
import type { TestServer } from '../../test/helpers/api-server.ts'
import { hollowNode, runControllers } from '../../test/helpers/controller-lab.ts'

const replicas = 1_000
const deadlineMs = 45_000
const path = '/apis/apps/v1/namespaces/default/deployments'
const labels = { app: 'rolled' }

const specOf = (image: string) => ({
  replicas,
  selector: { matchLabels: labels },
  template: { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } },
})

export interface RolloutFigures {
  readonly seconds: number
  /** Beside those of the hollow node: one status for each new pod, one deletion for each old one. */
  readonly writesPerPod: number
}

/** Rolls a Deployment of 1,000 pods from one image to another; a hollow node makes each pod ready at once. Undefined when it does not come to its end in time. */
export async function measureRollout(server: TestServer): Promise<RolloutFigures | undefined> {
  await using _node = await runControllers(server, (kit) => [
    hollowNode(kit, ({ metadata }) => metadata.labels['app'] === labels.app),
  ])
  await call(server, 'POST', path, { metadata: { name: 'rolled' }, spec: specOf('one') })
  if (!(await isUpdatedInTime(server))) return undefined
  const before = server.store.revision
  const startedMs = performance.now()
  await call(server, 'PATCH', `${path}/rolled`, { spec: specOf('two') })
  if (!(await isUpdatedInTime(server))) return undefined
  const seconds = (performance.now() - startedMs) / 1000
  return { seconds, writesPerPod: (server.store.revision - before - 2 * replicas) / replicas }
}

async function isUpdatedInTime(server: TestServer): Promise<boolean> {
  const endMs = performance.now() + deadlineMs
  while (performance.now() < endMs) {
    const { metadata, status = {} } = await call(server, 'GET', `${path}/rolled`)
    const isSeen = status.observedGeneration === metadata.generation
    const counts = [status.updatedReplicas, status.availableReplicas, status.replicas]
    if (isSeen && counts.every((count) => count === replicas)) return true
    await sleep(100)
  }
  console.error(
    `the rollout did not end in time: ${JSON.stringify((await call(server, 'GET', `${path}/rolled`)).status)}`,
  )
  return false
}

async function call(server: TestServer, method: string, where: string, body?: object) {
  const headers = method === 'PATCH' ? { headers: { 'content-type': 'application/merge-patch+json' } } : {}
  const { code, text, body: answer } = await server.call(method, where, { ...(body && { body }), ...headers })
  if (code > 299) throw new Error(text)
  return answer
}
