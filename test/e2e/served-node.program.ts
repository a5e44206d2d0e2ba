// Run by served-node.test.ts in namespaces of its own: an API server and an agent in one process, real pods and packets.
// Prints what was seen as one line of JSON; the test judges it.
import { openMemoryStore } from '../../src/api/store/index.ts'
import { writeKubeconfigs } from '../../src/app/composition/cluster-files.ts'
import { runCli } from '../../src/cli/run-cli.ts'
import { ApiClient, loadKubeconfig } from '../../src/client/index.ts'
import { HttpClusterApi } from '../../src/demo/http-cluster-api.ts'
import { clientSources, Lab, nodeAddress, type Pod } from '../../src/demo/lab.ts'
import { RuleMonitor, readRules } from '../../src/demo/rule-monitor.ts'
import { createWebService } from '../../src/demo/web-service.ts'
import { applySysctls, nodeSysctls, runProgram } from '../../src/host/index.ts'
import { createDialect, type DialectName } from '../../src/model/dialect.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { labNode, startLabAgent } from '../helpers/lab-agent.ts'
import { startLabApi } from '../helpers/lab-api.ts'
import { asReady } from '../helpers/lab-rollout.ts'
import { until, untilAsync } from '../helpers/until.ts'

const dialectName: DialectName = process.argv[2] === 'kubernetes' ? 'kubernetes' : 'platform'
const dialect = createDialect(dialectName)
const proxyMode = process.argv[3] ?? 'iptables'
const { identity, kubeconfig, controlSocket, port } = labNode

const scope = { signal: new AbortController().signal }
const store = openMemoryStore({ log: silentLogger })

const startApi = () => startLabApi({ identity, dialect, store, port })

const logLines: string[] = []

/** The log is kept. */
function startAgent() {
  return startLabAgent({ proxyMode, logLevel: 'debug', logFormat: 'json' }, (line) => logLines.push(line))
}

/** A command of the operator, who asks the agent over its control socket. */
async function platnet(...args: readonly string[]): Promise<{ code: number | undefined; text: string }> {
  let text = ''
  const stream = {
    write: (chunk: string) => {
      text += chunk
      return true
    },
  }
  const argv = ['node', 'platnet', ...args, '--control-socket', controlSocket]
  const code = await runCli(argv, { env: {}, stdout: stream, stderr: stream })
  return { code, text }
}

function countLists(): number {
  return logLines.filter((line) => line.includes('"message":"listed"')).length
}

/** What the pod behind `host:port` says of itself and of the source it sees. */
async function ask(
  netns: string,
  host: string,
  hostPort: number,
  from?: string,
): Promise<{ pod: string; source: string }> {
  const source = from === undefined ? [] : ['--interface', from]
  const url = `http://${host}:${hostPort}/`
  const { stdout } = await runProgram('curl', ['-sS', '--max-time', '5', ...source, url], {
    netns: netns,
    timeoutMs: 10_000,
  })
  const [pod = '', seen = ''] = stdout.trim().split(' ')
  return { pod, source: seen }
}

/** The endpoints of the Service on the web console of this node, with the connections that each got. */
async function askConsole(): Promise<unknown> {
  const url = 'http://127.0.0.1:10251/console/api/service?service=default/web'
  const { stdout } = await runProgram('curl', ['-sS', '--max-time', '5', url], { timeoutMs: 10_000 })
  return JSON.parse(stdout).families[0].ports[0].endpoints
}

async function observe() {
  const lab = new Lab()
  await lab.build()
  await applySysctls(nodeSysctls)
  let api = await startApi()
  await writeKubeconfigs(identity, port)
  const agent = await startAgent()
  const cluster = await HttpClusterApi.connect(kubeconfig, controlSocket)
  const service = await createWebService(cluster, dialect, { name: 'web', type: 'NodePort', sessionAffinity: 'None' })
  const pods: Pod[] = [await lab.startPod(), await lab.startPod(), await lab.startPod()]
  await service.publish(pods.map(asReady))
  const fromPod = pods[0]
  if (!fromPod || service.nodePort === undefined) throw new Error('there is no pod or no node port')

  const offCluster = await ask('plt-client', service.clusterIp, service.port, clientSources[0])
  const nodePort = await ask('plt-client', nodeAddress, service.nodePort, clientSources[0])
  const asked = []
  for (let count = 0; count < 90; count += 1) asked.push(await ask('plt-pod-1', service.clusterIp, service.port))

  const asks = {
    status: await platnet('status', '-o', 'json'),
    plan: await platnet('plan'),
    fromPod: await platnet('explain', fromPod.address, `${service.clusterIp}:${service.port}`),
    fromClient: await platnet('explain', clientSources[0] ?? '', `${nodeAddress}:${service.nodePort}`),
    elsewhere: await platnet('explain', fromPod.address, `${service.clusterIp}:9/udp`),
    service: await platnet('explain', 'service', 'default/web'),
    noService: await platnet('explain', 'service', 'default/none'),
    ...(await askPolicies(pods, `${service.clusterIp}:${service.port}`)),
  }

  const counted = await askConsole()

  const before = { lists: countLists(), rules: await readRules() }
  const monitor = new RuleMonitor()
  await monitor.start()
  await api.stop(scope)
  await forgetHistory()
  api = await startApi()
  await until('everything is listed again', () => countLists() >= before.lists + 3)
  const relist = { lists: countLists() - before.lists, ruleEvents: await monitor.stop() }
  const rulesKept = (await readRules()) === before.rules

  await agent.stop()
  await api.stop(scope)
  await lab.stop()
  const known = pods.map(({ name, address }) => ({ name, address }))
  return { pods: known, clusterIp: service.clusterIp, offCluster, nodePort, asked, asks, counted, relist, rulesKept }
}

/** What is explained of a Service and of two pods, the second of which a policy isolates. */
async function askPolicies(pods: readonly Pod[], service: string) {
  const client = new ApiClient(await loadKubeconfig(kubeconfig))
  const namespace = 'default'
  for (const { name, address } of pods) {
    const resource = { group: '', version: 'v1', resource: 'pods' }
    const spec = { nodeName: 'node-1', containers: [{ name: 'web', image: 'web' }] }
    const metadata = { name, namespace, labels: { pod: name } }
    await client.create({ resource, namespace }, { apiVersion: 'v1', kind: 'Pod', metadata, spec })
    const status = { phase: 'Running', podIP: address, podIPs: [{ ip: address }] }
    await client.patch({ resource, namespace, name, subresource: 'status' }, { kind: 'merge', patch: { status } })
  }
  const [from, to] = pods
  if (!from || !to) throw new Error('there are no two pods')
  const { networking: group } = dialect.groups
  const spec = { podSelector: { matchLabels: { pod: to.name } }, policyTypes: ['Ingress'], ingress: [] }
  const policy = { apiVersion: `${group}/v1`, kind: 'NetworkPolicy', metadata: { name: 'deny', namespace }, spec }
  await client.create({ resource: { group, version: 'v1', resource: 'networkpolicies' }, namespace }, policy)
  client.close()
  const explain = () => platnet('explain', `default/${from.name}`, `default/${to.name}:80`)
  await untilAsync('the agent knows the pods and the policy', async () =>
    (await explain()).text.includes('default/deny'),
  )
  return { podToPod: await explain(), throughService: await platnet('explain', `default/${from.name}`, service) }
}

/** The informers are behind a compacted write of another client: they must list everything again. */
async function forgetHistory(): Promise<void> {
  const value = JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'other', namespace: 'default' },
  })
  await store.commit([{ kind: 'put', key: '/registry/configmaps/default/other', value, expectedRevision: 0 }])
  await store.compact(store.revision)
}

process.stdout.write(`${JSON.stringify(await observe())}\n`)
process.exit(0)
