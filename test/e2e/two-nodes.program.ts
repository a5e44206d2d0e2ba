// Run by two-nodes.test.ts in namespaces of its own: a server and two agents, each in its own network namespace, on one network.
// Argument: the value of --pod-network. Prints what was seen as one line of JSON.
import { resolve } from 'node:path'
import { ApiClient, loadKubeconfig } from '../../src/client/index.ts'
import { type RunningProgram, runProgram } from '../../src/host/index.ts'
import type { ApiObject } from '../../src/model/api-object.ts'
import { connectNode, createLan, startAgent } from '../helpers/lan-node.ts'
import { type AnyObject, allowPods, deadlineMs, isReady } from '../helpers/pods-lab.ts'
import { checkoutLauncher } from '../helpers/program.ts'
import { untilAsync } from '../helpers/until.ts'

const mode = process.argv[2] ?? 'host-gw'
const pods = { resource: { group: '', version: 'v1', resource: 'pods' }, namespace: 'default' }
const timeoutMs = 10_000

function startPodAgent(number: number): Promise<RunningProgram> {
  const folder = `/run/node-${number}`
  return startAgent(number, {
    'cni-conf-dir': `${folder}/net.d`,
    'cni-cache-dir': `${folder}/cni`,
    'pod-network': mode,
    'run-pods': 'true',
    'pod-host-folders': resolve(process.execPath, '../..'),
  })
}

await createLan()
await connectNode(1)
await connectNode(2)
await runProgram(checkoutLauncher, ['server', '--data-dir', '/run/server', '--log-level', 'warn'], {
  background: true,
  stdout: 2,
  stderr: 2,
})
let client: ApiClient | undefined
await untilAsync(
  'the server is ready',
  async () => {
    try {
      client = new ApiClient(await loadKubeconfig('/run/server/admin.kubeconfig'))
      await client.getDocument('/api/v1/namespaces/default')
      return true
    } catch {
      return false
    }
  },
  deadlineMs,
)
const api = client
if (api === undefined) throw new Error('there is no server')
await allowPods(api)
await startPodAgent(1)
const second = await startPodAgent(2)

async function startPod(name: string, node: number, script: string): Promise<AnyObject> {
  const containers = [{ name: 'main', command: [process.execPath, '-e', script] }]
  const spec = { nodeName: `node-${node}`, terminationGracePeriodSeconds: 0, containers }
  await api?.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec,
  } as ApiObject)
  let pod: AnyObject
  await untilAsync(
    `${name} is ready`,
    async () => {
      pod = await api?.get({ ...pods, name })
      return isReady(pod)
    },
    deadlineMs,
  )
  return pod.status.podIP
}

/** Returns the client address that the server sees for a request of `asker`, a pod on the other node. */
async function ask(host: string, port: number): Promise<string> {
  const name = `asker-${port}`
  const get = `require('http').get({ host: '${host}', port: ${port} }, (r) => r.pipe(process.stdout)).on('error', () => setTimeout(ask, 100))`
  const ip = await startPod(name, 2, `function ask() { ${get} } ask(); setInterval(() => {}, 1000)`)
  let seen = ''
  await untilAsync(
    `${name} has its answer`,
    async () => {
      seen = (
        await runProgram(checkoutLauncher, ['logs', name, '--data-dir', '/run/node-2'], { timeoutMs: deadlineMs })
      ).stdout
      return seen !== ''
    },
    deadlineMs,
  )
  return seen === ip ? 'its own' : seen
}

const server = "require('http').createServer((q, r) => r.end(q.socket.remoteAddress.replace('::ffff:', ''))).listen"
const answering = await startPod('server', 1, `${server}(8080)`)
await runProgram(process.execPath, ['-e', `${server}(18081)`], { background: true })
const seen = {
  fromOtherNode: await ask(answering, 8080),
  fromOutside: await ask('192.0.2.1', 18081),
  links: (await runProgram('ip', ['-br', 'link'], { netns: 'plt-node-1', timeoutMs })).stdout,
  routes: (await runProgram('ip', ['route', 'show', 'proto', '143'], { netns: 'plt-node-1', timeoutMs })).stdout,
}
const policies = { group: 'networking.platform.internal', version: 'v1', resource: 'networkpolicies' }
await api.create({ resource: policies, namespace: 'default' }, {
  apiVersion: `${policies.group}/v1`,
  kind: 'NetworkPolicy',
  metadata: { name: 'closed', namespace: 'default' },
  spec: { podSelector: {}, ingress: [] },
} as ApiObject)

/** The answer of the agent of a node about the pod of one node and that of the other. */
async function explain(node: number): Promise<string> {
  const args = [
    'explain',
    'default/asker-8080',
    'default/server:8080',
    '--control-socket',
    `/run/node-${node}/agent.sock`,
  ]
  return (await runProgram(checkoutLauncher, args, { timeoutMs: deadlineMs })).stdout
}
await untilAsync(
  'both agents know the policy',
  async () => /deny/.test(await explain(1)) && /deny/.test(await explain(2)),
  deadlineMs,
)
const explained = [await explain(1), await explain(2)]

second.kill('SIGKILL')
await second.exited
await api.delete({ resource: { group: '', version: 'v1', resource: 'nodes' }, name: 'node-2' })
await untilAsync(
  'the route to a node that is gone is gone',
  async () =>
    (await runProgram('ip', ['route', 'show', 'proto', '143'], { netns: 'plt-node-1', timeoutMs })).stdout !==
    seen.routes,
  deadlineMs,
)
const cleaned = await runProgram(checkoutLauncher, ['cleanup', '--yes', '--keep-pods'], {
  netns: 'plt-node-2',
  timeoutMs: deadlineMs,
})
const left = (await runProgram('ip', ['route', 'show', 'proto', '143'], { netns: 'plt-node-2', timeoutMs })).stdout
process.stdout.write(`${JSON.stringify({ ...seen, explained, cleaned: cleaned.stdout, left })}\n`)
process.exit(0)
