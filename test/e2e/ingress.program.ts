// Run by ingress.test.ts in namespaces of its own: an agent with its node's identity serves Ingresses of a real API server, with the driver that
// the argument names. Prints what was seen as one line of JSON.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Agent, type AgentOptions, get as httpsGet } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { runProgram } from '../../src/host/index.ts'
import { type AnyObject, deadlineMs, PodsLab } from '../helpers/pods-lab.ts'
import { checkoutLauncher } from '../helpers/program.ts'
import { makeTlsCertificate } from '../helpers/tls-certificates.ts'
import { untilAsync } from '../helpers/until.ts'

const driver = process.argv[2] ?? 'in-process'
const dataDir = '/run/platnet'
const lab = new PodsLab({ agentIdentity: 'agent' })
const group = 'networking.platform.internal'
const [plainHost, secureHost] = ['plain.example.com', 'secure.example.com']
const version = 'v1'
const resources = {
  classes: { group, version, resource: 'ingressclasses' },
  ingresses: { group, version, resource: 'ingresses' },
  slices: { group: 'discovery.platform.internal', version, resource: 'endpointslices' },
  secrets: { group: '', version, resource: 'secrets' },
  services: { group: '', version, resource: 'services' },
}

/** A server of the node's address that answers its name. */
async function startBackend(name: string, port: number): Promise<void> {
  const server = createServer((_, response) => response.end(name))
  const listening = once(server, 'listening')
  server.listen(port, lab.nodeAddress)
  await listening
}

async function curl(...args: readonly string[]): Promise<string> {
  const hosts = [`${plainHost}:80`, `${secureHost}:443`, `${secureHost}:80`]
  const resolved = hosts.flatMap((host) => ['--resolve', `${host}:${lab.nodeAddress}`])
  const shared = ['-sS', '--max-time', '5', '-w', ' %{http_code} %{http_version}', ...resolved]
  const { stdout } = await runProgram('curl', [...shared, ...args], { timeoutMs: 10_000 })
  return stdout
}

const tryCurl = (...args: readonly string[]) => curl(...args).catch((error: unknown) => String(error))

async function platnet(...args: readonly string[]): Promise<string> {
  const asked = [...args, '--control-socket', lab.controlSocket]
  return (await runProgram(checkoutLauncher, asked, { timeoutMs: deadlineMs })).stdout
}

function pem({ certPem, keyPem }: { readonly certPem: string; readonly keyPem: string }) {
  const base64 = (value: string) => Buffer.from(value).toString('base64')
  return { 'tls.crt': base64(certPem), 'tls.key': base64(keyPem) }
}

async function useEndpoint(port: number): Promise<void> {
  const ref = { resource: resources.slices, namespace: 'default', name: 'web-1' }
  await lab.client.patch(ref, { kind: 'merge', patch: { ports: [{ name: 'http', port, protocol: 'TCP' }] } })
}

interface Load {
  readonly answered: Record<string, number>
  readonly failures: string[]
  isOver: boolean
}

/** Asks until it is over, half of the time on a connection of its own. */
async function ask(load: Load, options: AgentOptions): Promise<void> {
  const kept = new Agent({ ...options, keepAlive: true, maxSockets: 1 })
  for (let count = 0; !load.isOver; count += 1) {
    const agent = count % 2 === 0 ? kept : new Agent(options)
    const answer = await askOnce(agent).catch((error: unknown) => `failed: ${String(error)}`)
    if (answer.startsWith('200 ')) load.answered[answer.slice(4)] = (load.answered[answer.slice(4)] ?? 0) + 1
    else load.failures.push(answer)
    if (agent !== kept) agent.destroy()
    await sleep(1)
  }
  kept.destroy()
}

function askOnce(agent: Agent): Promise<string> {
  return new Promise((done, fail) => {
    const headers = { host: secureHost }
    const request = httpsGet({ host: lab.nodeAddress, servername: secureHost, headers, agent, timeout: 5000 })
    request.on('response', (response) => text(response).then((body) => done(`${response.statusCode} ${body}`), fail))
    request.on('timeout', () => request.destroy(new Error('no answer')))
    request.on('error', fail)
  })
}

/** Runs four clients from before the work to after it. */
async function underLoad(ca: readonly string[], work: () => Promise<void>): Promise<Load> {
  const load: Load = { answered: {}, failures: [], isOver: false }
  const clients = Array.from({ length: 4 }, () => ask(load, { ca: [...ca] }))
  await sleep(300)
  await work()
  await sleep(300)
  load.isOver = true
  await Promise.all(clients)
  return load
}

async function servedCertificate(): Promise<string> {
  const arguments_ = ['--insecure', '-v', '-o', '/dev/null', `https://${secureHost}/`]
  const shared = ['--resolve', `${secureHost}:443:${lab.nodeAddress}`, '-sS', '--max-time', '5']
  const { stderr } = await runProgram('curl', [...shared, ...arguments_], { timeoutMs: 10_000 })
  return /subject: CN\s*=\s*(\S+)/.exec(stderr)?.[1] ?? ''
}

const flags = ['--components', 'ingress,registration', '--ingress-driver', driver]
const names = [secureHost]
const [first, second] = await Promise.all([
  makeTlsCertificate({ commonName: 'first', names }),
  makeTlsCertificate({ commonName: 'second', names }),
])
await lab.build()
const issue = ['server', 'kubeconfig', '--data-dir', dataDir, '--node', 'node-1', '--url', 'https://127.0.0.1:6443']
writeFileSync(
  `${dataDir}/agent.kubeconfig`,
  (await runProgram(checkoutLauncher, issue, { timeoutMs: deadlineMs })).stdout,
)
writeFileSync('/run/first.pem', first.certPem)
await startBackend('one', 9001)
await startBackend('two', 9002)
await lab.startAgent(flags)

const web = { name: 'web', port: { name: 'http' } }
const paths = [{ path: '/', pathType: 'Prefix', backend: { service: web } }]
const rules = [plainHost, secureHost].map((host) => ({ host, http: { paths } }))
const spec = { ingressClassName: 'ours', rules, tls: [{ hosts: names, secretName: 'secure-tls' }] }
const networking = `${group}/v1`
await lab.client.create(
  { resource: resources.classes },
  {
    apiVersion: networking,
    kind: 'IngressClass',
    metadata: { name: 'ours' },
    spec: { controller: 'platform.internal/ingress' },
  },
)
await lab.create(resources.services, {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: { ports: [{ name: 'http', port: 80 }] },
})
await lab.create(resources.slices, {
  apiVersion: 'discovery.platform.internal/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'web-1', labels: { 'platform.internal/service-name': 'web' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: [lab.nodeAddress] }],
  ports: [{ name: 'http', port: 9001, protocol: 'TCP' }],
})
await lab.create(resources.secrets, {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'secure-tls' },
  data: pem(first),
})
await lab.create(resources.ingresses, { apiVersion: networking, kind: 'Ingress', metadata: { name: 'web' }, spec })
const cacert = ['--cacert', '/run/first.pem']
const isServed = async () => (await tryCurl(...cacert, `https://${secureHost}/`)).startsWith('one 200')
await untilAsync('the host with TLS is served', isServed, deadlineMs)
const plain = await tryCurl(`http://${plainHost}/a//b/../c`)
const secure = await tryCurl(...cacert, `https://${secureHost}/`)
const unknown = await tryCurl('-H', 'Host: other.example.com', `http://${plainHost}/`)
const ingress = () => lab.client.get({ resource: resources.ingresses, namespace: 'default', name: 'web' }) as AnyObject
const addresses = async () => JSON.stringify((await ingress()).status?.loadBalancer?.ingress ?? [])
await untilAsync('the status is written', async () => (await addresses()) !== '[]', deadlineMs)
const status = await addresses()

const ca = [first.certPem, second.certPem]
const rotation = await underLoad(ca, async () => {
  const ref = { resource: resources.secrets, namespace: 'default', name: 'secure-tls' }
  await lab.client.patch(ref, { kind: 'merge', patch: { data: pem(second) } })
  await untilAsync('the second certificate is served', async () => (await servedCertificate()) === 'second', deadlineMs)
})
const rollout = await underLoad(ca, async () => {
  await useEndpoint(9002)
  await untilAsync(
    'the second endpoint answers',
    async () => (await tryCurl(`http://${plainHost}/`)).startsWith('two'),
    deadlineMs,
  )
})
const [shown, explained] = [await lab.status(), await platnet('explain', `https://${secureHost}/a`)]
const metrics = (await lab.metrics()).split('\n').filter((line) => line.startsWith('platnet_ingress_'))
const killed = await underLoad(ca, async () => {
  if (driver !== 'haproxy') return
  await lab.killAgent()
  await sleep(1000)
  await lab.startAgent(flags)
  await useEndpoint(9001)
  await untilAsync(
    'the next agent changes the routes',
    async () => (await tryCurl(`http://${plainHost}/`)).startsWith('one'),
    deadlineMs,
  )
})
await lab.client.delete({ resource: resources.classes, name: 'ours' })
await untilAsync('the status is removed', async () => (await addresses()) === '[]', deadlineMs)
const afterwards = await tryCurl(`http://${plainHost}/`)
await lab.stop()
const seen = { plain, secure, unknown, status, rotation, rollout, killed, shown, explained, metrics, afterwards }
process.stdout.write(`${JSON.stringify(seen)}\n`)
process.exit(0)
