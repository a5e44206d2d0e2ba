// Run by beside-kubelet.test.ts in namespaces of its own: an API server, a program on the kubelet's port, and the agent by the README's command with
// no rights but those of deploy/kubernetes/rbac.yaml. Argument: the command. Prints what was seen as one line of JSON.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { addAddress, createVethPair, runProgram } from '../../src/host/index.ts'
import { ipOf } from '../helpers/addresses.ts'
import { startApiRecorder } from '../helpers/api-recorder.ts'
import { startTestServer } from '../helpers/api-server.ts'
import { untilAsync } from '../helpers/until.ts'

const [command = ''] = process.argv.slice(2)
const root = resolve(import.meta.dirname, '../..')
const deadlineMs = 60_000
const account = {
  name: 'system:serviceaccount:kube-system:platnet',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
}
const server = await startTestServer({ tokens: [{ token: 'of-the-agent', user: account }] })

async function create(path: string, body: object): Promise<void> {
  const { code, text } = await server.call('POST', path, { body })
  if (code !== 201) throw new Error(`${path}: ${text}`)
}

const paths: Readonly<Record<string, string>> = {
  ServiceAccount: '/api/v1/namespaces/kube-system/serviceaccounts',
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  Role: '/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings',
}

await createVethPair({ name: 'eth0' }, { name: 'far' })
await runProgram('ip', ['link', 'set', 'far', 'up'], { timeoutMs: 10_000 })
await addAddress({ name: 'eth0' }, { ip: ipOf('192.0.2.11'), prefixLength: 24 })
createServer((socket) => socket.destroy()).listen(10250)
for (const document of parseAllDocuments(readFileSync(`${root}/deploy/kubernetes/rbac.yaml`, 'utf8'))) {
  const object = document.toJS()
  await create(paths[object.kind] ?? '', object)
}
for (const [name, address, podCIDR] of [
  ['n1', '192.0.2.11', '10.244.3.0/24'],
  ['n2', '192.0.2.12', '10.244.4.0/24'],
]) {
  const status = { addresses: [{ type: 'InternalIP', address }], nodeInfo: { kubeletVersion: 'v1.34.0' } }
  await create('/api/v1/nodes', { metadata: { name }, spec: { podCIDR }, status })
}
const data = { Corefile: '.:53 {\n  kubernetes cluster.local\n  hosts { 192.0.2.77 of-the-configmap.test\n }\n}\n' }
await create('/api/v1/namespaces/kube-system/configmaps', { metadata: { name: 'coredns' }, data })
const services = '/api/v1/namespaces/default/services'
const claims = { ports: [{ port: 80 }], externalIPs: ['192.0.2.99'] }
for (const name of ['first', 'second']) await create(services, { metadata: { name }, spec: claims })

/** As the charts of Prometheus give it. */
async function tokenOfScraper(): Promise<string> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const metadata = { name: 'scraper' }
  await create('/api/v1/namespaces/default/serviceaccounts', { metadata })
  const rules = [{ apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] }]
  await create(`${rbac}/clusterroles`, { metadata, rules })
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'scraper' }
  const subjects = [{ kind: 'ServiceAccount', name: 'scraper', namespace: 'default' }]
  await create(`${rbac}/clusterrolebindings`, { metadata, roleRef, subjects })
  const path = '/api/v1/namespaces/default/serviceaccounts/scraper/token'
  return (await server.call('POST', path, { body: { spec: {} } })).body.status.token
}

const scraper = await tokenOfScraper()
const { asked, port } = await startApiRecorder(server)
mkdirSync('/run/agent')
writeFileSync('/run/agent/ca.pem', server.authority.certPem)
const kubeconfig = {
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'c',
  clusters: [
    { name: 'c', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority': '/run/agent/ca.pem' } },
  ],
  users: [{ name: 'u', user: { token: 'of-the-agent' } }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
}
writeFileSync('/run/agent/kubeconfig', JSON.stringify(kubeconfig), { mode: 0o600 })
const [, ...args] = command.replace('/etc/platnet/agent.kubeconfig', '/run/agent/kubeconfig').split(' ')
const own = {
  'node-name': 'n1',
  'node-ip': '192.0.2.11',
  'data-dir': '/run/agent',
  'cni-conf-dir': '/run/net.d',
  'cni-cache-dir': '/run/cni',
  'log-level': 'warn',
}
const flags = Object.entries(own).map(([flag, value]) => `--${flag}=${value}`)
const agent = await runProgram(`${root}/scripts/platnet`, [...args, ...flags], {
  background: true,
  stdout: 2,
  stderr: 2,
})

const list = '/run/net.d/10-platnet.conflist'
const routes = async () => (await runProgram('ip', ['route', 'show', 'proto', '143'], { timeoutMs: 10_000 })).stdout
await untilAsync('the list is written', async () => existsSync(list), deadlineMs)
await untilAsync('the route is made', async () => (await routes()) !== '', deadlineMs)
const events = async () => {
  const { body } = await server.call('GET', '/api/v1/namespaces/default/events')
  const items: { reason: string; count?: number; involvedObject: { name: string } }[] = body.items
  return items.filter(({ reason }) => reason === 'AddressRefused')
}
await untilAsync('the younger Service has an Event', async () => (await events()).length > 0, deadlineMs)
const [event] = await events()
const younger = event?.involvedObject.name ?? ''
for (const externalIPs of [[], claims.externalIPs]) {
  const headers = { 'content-type': 'application/merge-patch+json' }
  await server.call('PATCH', `${services}/${younger}`, { body: { spec: { externalIPs } }, headers })
}
await untilAsync('the Event recurs', async () => (await events()).some(({ count = 1 }) => count > 1), deadlineMs)
const dig = ['dns', 'query', 'of-the-configmap.test', 'A', '--dns-server', '10.96.0.10']
const answer = await runProgram(`${root}/scripts/platnet`, dig, { timeoutMs: deadlineMs }).catch((error) => error)
const metrics = await new Promise<number>((done, fail) => {
  const headers = { authorization: `Bearer ${scraper}` }
  const from = { host: '192.0.2.11', localAddress: '192.0.2.11', port: 10350, path: '/metrics' }
  request({ ...from, headers, rejectUnauthorized: false }, (reply) => {
    reply.resume()
    done(reply.statusCode ?? 0)
  })
    .on('error', fail)
    .end()
})
// Long enough for everything that is looked at every 5 s.
await new Promise((resolve) => setTimeout(resolve, 6_000))
const seen = { asked, list: readFileSync(list, 'utf8'), routes: await routes(), answer: answer.stdout, metrics }
agent.kill('SIGTERM')
await agent.exited
process.stdout.write(`${JSON.stringify(seen)}\n`)
process.exit(0)
