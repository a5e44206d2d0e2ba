// Run by prometheus.test.ts in namespaces of its own: a server and an agent with every part under some traffic, scraped by a real Prometheus
// with the configuration of deploy/prometheus. Prints what was seen as one line of JSON.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { runProgram } from '../../../src/host/index.ts'
import { rcode } from '../../../src/node/dns/wire/codes.ts'
import { readAlerts, readPanelQueries } from '../../helpers/dashboards.ts'
import { FakeUpstream } from '../../helpers/fake-upstream.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { type AnyObject, deadlineMs, PodsLab } from '../../helpers/pods-lab.ts'
import { publishedQueries } from '../../helpers/published-queries.ts'
import { makeTlsCertificate } from '../../helpers/tls-certificates.ts'
import { untilAsync } from '../../helpers/until.ts'
import { answerBytes } from '../../helpers/upstream-messages.ts'

const root = resolve(import.meta.dirname, '../../..')
const folder = '/run/prometheus'
const clusterDns = '10.96.0.10'
const host = 'web.example.com'
const trafficMs = 50_000
const lab = new PodsLab()
const platform = (group: string) => `${group}.platform.internal`
const networking = platform('networking')
const resources = {
  services: { group: '', resource: 'services' },
  secrets: { group: '', resource: 'secrets' },
  accounts: { group: '', resource: 'serviceaccounts' },
  deployments: { group: 'apps', resource: 'deployments' },
  policies: { group: networking, resource: 'networkpolicies' },
  classes: { group: networking, resource: 'ingressclasses' },
  ingresses: { group: networking, resource: 'ingresses' },
}
const deployment = { resource: { ...resources.deployments, version: 'v1' }, namespace: 'default', name: 'web' }

const serverCode = `require('http').createServer((q, r) => r.end('web')).listen(8080)`
const knockCode = (ip: string) => `setInterval(() => {
  const s = require('net').connect({ host: '${ip}', port: 8080, timeout: 200 })
  s.once('timeout', () => s.destroy()); s.once('error', () => {}); s.once('connect', () => s.destroy())
}, 100)`

/** The second upstream is not there. */
function corefile(upstreamPort: number): string {
  return `.:53 {
  errors
  health :8083
  ready
  kubernetes cluster.local in-addr.arpa ip6.arpa
  prometheus :9153
  forward . 127.0.0.1:${upstreamPort} 127.0.0.1:1
  cache 30
  reload
}
`
}

async function createWeb(): Promise<void> {
  const udp = { name: 'udp', port: 81, targetPort: 8081, protocol: 'UDP' }
  const ports = [{ name: 'http', port: 80, targetPort: 8080 }, udp]
  const service = { apiVersion: 'v1', kind: 'Service' }
  const selector = { app: 'web' }
  await lab.create(resources.services, { ...service, metadata: { name: 'web' }, spec: { ports, selector } })
  const headless = { ports, selector, clusterIP: 'None' }
  await lab.create(resources.services, { ...service, metadata: { name: 'peers' }, spec: headless })
  const probe = { httpGet: { port: 8080 }, periodSeconds: 1 }
  const container = { name: 'main', command: [process.execPath, '-e', serverCode], readinessProbe: probe }
  await lab.create(resources.deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      replicas: 2,
      selector: { matchLabels: selector },
      template: {
        metadata: { labels: selector },
        spec: { terminationGracePeriodSeconds: 1, containers: [container] },
      },
    },
  })
}

async function createIngress(): Promise<void> {
  const { certPem, keyPem } = await makeTlsCertificate({ commonName: host, names: [host] })
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const data = { 'tls.crt': base64(certPem), 'tls.key': base64(keyPem) }
  await lab.create(resources.secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'web-tls' }, data })
  const group = { apiVersion: `${networking}/v1` }
  await lab.client.create(
    { resource: { ...resources.classes, version: 'v1' } },
    {
      ...group,
      kind: 'IngressClass',
      metadata: { name: 'ours' },
      spec: { controller: 'platform.internal/ingress' },
    },
  )
  const backend = (name: string) => ({ service: { name, port: { name: 'http' } } })
  const paths = [
    { path: '/', pathType: 'Prefix', backend: backend('web') },
    { path: '/none', pathType: 'Prefix', backend: backend('missing') },
  ]
  const tls = [{ hosts: [host], secretName: 'web-tls' }]
  const spec = { ingressClassName: 'ours', rules: [{ host, http: { paths } }], tls }
  await lab.create(resources.ingresses, { ...group, kind: 'Ingress', metadata: { name: 'web' }, spec })
}

/** A pod that a policy shuts out, one that no node can run, and one that crashes. */
async function createTrouble(webAddress: string): Promise<void> {
  const ingress = [{ from: [{ podSelector: { matchLabels: { role: 'friend' } } }] }]
  await lab.create(resources.policies, {
    apiVersion: `${networking}/v1`,
    kind: 'NetworkPolicy',
    metadata: { name: 'web' },
    spec: { podSelector: { matchLabels: { app: 'web' } }, ingress },
  })
  await lab.createPod('guest', { command: [process.execPath, '-e', knockCode(webAddress)] })
  await lab.createPod('homeless', { command: ['true'] }, { nodeName: '', nodeSelector: { no: 'node' } })
  await lab.createPod('crash', { command: ['false'] })
}

/** Creates the account of deploy/prometheus/rbac.yaml; returns its token. */
async function createAccount(): Promise<string> {
  const text = readFileSync(`${root}/deploy/prometheus/rbac.yaml`, 'utf8')
  const kinds = {
    ServiceAccount: 'serviceaccounts',
    ClusterRole: 'clusterroles',
    ClusterRoleBinding: 'clusterrolebindings',
  }
  const asPlatform = text.replaceAll('rbac.authorization.k8s.io', platform('rbac.authorization'))
  for (const document of parseAllDocuments(asPlatform)) {
    const object: AnyObject = document.toJS()
    const { namespace } = object.metadata
    const group = object.apiVersion.includes('/') ? platform('rbac.authorization') : ''
    const resource = { group, version: 'v1', resource: kinds[object.kind as keyof typeof kinds] }
    await lab.client.create({ resource, ...(namespace && { namespace }) }, object)
  }
  const account = { resource: { ...resources.accounts, version: 'v1' }, namespace: 'kube-system', name: 'prometheus' }
  const request: AnyObject = {
    apiVersion: `${platform('authentication')}/v1`,
    kind: 'TokenRequest',
    metadata: {},
    spec: {},
  }
  const answer: AnyObject = await lab.client.createAt({ ...account, subresource: 'token' }, request)
  return answer.status.token
}

async function startPrometheus(): Promise<void> {
  mkdirSync(folder)
  writeFileSync(`${folder}/token`, await createAccount())
  writeFileSync(`${folder}/ca.crt`, readFileSync('/run/platnet/pki/ca.crt'))
  const text = readFileSync(`${root}/deploy/prometheus/prometheus.yaml`, 'utf8')
  const config = parse(text.replaceAll('/etc/prometheus/platnet', folder))
  const quick = { scrape_interval: '2s', evaluation_interval: '2s' }
  const rules = [`${root}/deploy/prometheus/alerts.yaml`]
  writeFileSync(`${folder}/prometheus.yaml`, stringify({ ...config, global: quick, rule_files: rules }))
  const flags = [
    `--config.file=${folder}/prometheus.yaml`,
    `--storage.tsdb.path=${folder}/data`,
    '--web.listen-address=127.0.0.1:9090',
    '--log.level=warn',
  ]
  await runProgram('prometheus', flags, { background: true, stdout: 2, stderr: 2 })
}

async function askPrometheus(path: string): Promise<AnyObject> {
  const { body } = await httpGet({ host: '127.0.0.1', port: 9090, path })
  const { status, data, error } = JSON.parse(body)
  if (status !== 'success') throw new Error(`${path}: ${error}`)
  return data
}

/** Returns how many series with a number the query gives now. */
async function countSeries(expr: string): Promise<number> {
  const { result } = await askPrometheus(`/api/v1/query?query=${encodeURIComponent(expr)}`)
  return result.filter((series: AnyObject) => series.value[1] !== 'NaN').length
}

const quietly = (promise: Promise<unknown>) => promise.catch(() => undefined)

async function dig(...args: readonly string[]): Promise<void> {
  await runProgram('dig', [`@${clusterDns}`, '+tries=1', ...args], { timeoutMs: 20_000 })
}

async function askDns(): Promise<void> {
  const names = ['web', 'peers', 'missing'].flatMap((name) => [`${name}.default.svc.cluster.local`, 'A'])
  const outside = [`www${Date.now() % 5}.example.com`, 'A', 'www.example.com', 'AAAA']
  for (const flags of [[], ['+tcp'], ['+dnssec']]) await dig('+time=2', ...flags, ...names, ...outside)
}

async function askHttp(): Promise<void> {
  const paths = ['/', '/none', '/']
  for (const path of paths) await httpGet({ host: lab.nodeAddress, port: 80, path, headers: { host }, timeout: 2_000 })
  await httpGet({ host: lab.nodeAddress, port: 80, path: '/', headers: { host: 'other.example.com' } })
  for (const path of ['/healthz', '/livez']) await httpGet({ host: '127.0.0.1', port: 10_256, path })
}

/** Repeats the work until the end, with a pause after each. Failures are part of the traffic. */
async function repeat(endMs: number, pauseMs: number, work: (round: number) => Promise<unknown>): Promise<void> {
  for (let round = 0; Date.now() < endMs; round += 1) {
    await quietly(work(round))
    await sleep(pauseMs)
  }
}

async function makeTraffic(): Promise<void> {
  const endMs = Date.now() + trafficMs
  await Promise.all([
    repeat(endMs, 500, askDns),
    repeat(endMs, 1_000, () => dig('+time=6', 'broken.example.com', 'A')),
    repeat(endMs, 500, askHttp),
    repeat(endMs, 500, () => lab.client.get({ ...deployment, name: 'missing' })),
    repeat(endMs, 5_000, (round) =>
      lab.client.patch(deployment, { kind: 'merge', patch: { spec: { replicas: 3 - (round % 2) } } }),
    ),
    repeat(endMs, 10_000, (round) =>
      lab.createPod(`short-${round}`, { command: ['true'] }, { restartPolicy: 'Never' }),
    ),
  ])
}

async function seeQueries(queries: readonly { readonly source: string; readonly expr: string }[]) {
  const seen = []
  for (const { source, expr } of queries) seen.push({ source, expr, series: await countSeries(expr) })
  return seen
}

/** Comparisons give all series with 0 or 1 instead of those that are true. */
const withBool = (expr: string): string => expr.replaceAll(/ (>|<|==) /g, ' $1 bool ')

async function readScrapes() {
  const { activeTargets } = await askPrometheus('/api/v1/targets?state=active')
  const headers = { authorization: `Bearer ${readFileSync(`${folder}/token`, 'utf8')}` }
  return Promise.all(
    activeTargets.map(async ({ labels, health, lastError, scrapeUrl, lastScrapeDuration }: AnyObject) => {
      const { protocol, hostname, port } = new URL(scrapeUrl)
      const tls = protocol === 'https:' ? { ca: '', rejectUnauthorized: false } : {}
      const got = await httpGet({ host: hostname, port: Number(port), path: '/metrics', headers, ...tls })
      return { job: labels.job, health, lastError, seconds: lastScrapeDuration, body: got.body }
    }),
  )
}

const upstream = await new FakeUpstream(({ name, bytes }) => [
  answerBytes(bytes, name.startsWith('broken') ? { rcode: rcode.SERVFAIL } : { addresses: ['192.0.2.7'] }),
]).start()
await lab.build()
writeFileSync('/run/dns.corefile', corefile(upstream.port))
const parts = 'proxy,policy,dns,ingress,registration,cni,routes,pods'
await lab.startAgent(['--components', parts, '--corefile', '/run/dns.corefile', '--ingress-driver', 'in-process'])
await createWeb()
await createIngress()
await untilAsync(
  'two pods are ready',
  async () => ((await lab.client.get(deployment)) as AnyObject).status?.readyReplicas === 2,
  deadlineMs,
)
const web = (await lab.pods()).find(({ metadata }) => metadata.labels?.app === 'web')
await createTrouble(web.status.podIP)
await startPrometheus()
await makeTraffic()
const alerts = readAlerts().map(({ alert, expr }) => ({ source: alert, expr: withBool(expr) }))
const seen = {
  scrapes: await readScrapes(),
  panels: await seeQueries(readPanelQueries()),
  alerts: await seeQueries(alerts),
  published: await seeQueries(publishedQueries),
  firing: (await askPrometheus('/api/v1/alerts')).alerts.map(({ labels }: AnyObject) => labels.alertname),
}
// More than a pipe takes at once: the process ends when all of it is written.
process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit(0))
