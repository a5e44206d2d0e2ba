// The inner part of `npm run bench -- ingress`, in namespaces of its own: an API core, agents with their engines, the peers, and the servers behind
// them. Prints its report as one line of JSON; how far it is on standard error.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RunningProgram, runProgram } from '../../src/host/index.ts'
import { findFreePort } from '../../test/helpers/free-port.ts'
import { PlatnetServer } from '../../test/helpers/platnet-server.ts'
import { inParallel } from '../in-parallel.ts'
import { hasProgram } from '../needs.ts'
import { usageOf } from '../proxy/usage.ts'
import {
  type BenchReport,
  type BenchRow,
  compare,
  measureAlone,
  medianAndTail,
  percentile,
  progress,
} from '../report.ts'
import { IngressAgent } from './agent.ts'
import { IngressCluster } from './cluster.ts'
import { type LoadResult, measureLoad } from './load.ts'
import { haproxyPorts, headersPorts, nginxPorts, promisesPorts, startHaproxy, startPeerNginx } from './peers.ts'
import { Prober } from './prober.ts'
import { backends, folder, hosts, type ProxyPorts, rules, startBackends, writeFile } from './scene.ts'

/** What is measured: all of it unless `BENCH_INGRESS_PARTS` says which. */
const parts = (process.env['BENCH_INGRESS_PARTS'] ?? 'load,change,many').split(',')
const seconds = Number(process.env['BENCH_INGRESS_SECONDS'] ?? '5')
const rounds = Number(process.env['BENCH_INGRESS_CHANGES'] ?? '60')
const many = Number(process.env['BENCH_INGRESS_MANY'] ?? '2000')
const loadRounds = 3
const haproxyDriverPorts: ProxyPorts = { http: 8121, https: 8122 }
const inProcessPorts: ProxyPorts = { http: 8131, https: 8132 }
const probeHost = 'probe.example.com'
const [first, second] = backends

interface Proxy {
  readonly name: string
  readonly ports: ProxyPorts
  readonly cpuSeconds: () => number
}

/** Each proxy in turn, several times: the median of its rounds counts. */
async function measureProxies(proxies: readonly Proxy[], scheme: 'http' | 'https'): Promise<Map<string, LoadResult>> {
  const results = new Map<string, LoadResult[]>(proxies.map(({ name }) => [name, []]))
  for (let round = 0; round < loadRounds; round++) {
    for (const { name, ports, cpuSeconds } of proxies) {
      const result = await measureLoad(`${scheme}://127.0.0.1:${ports[scheme]}/`, seconds, cpuSeconds)
      results.get(name)?.push(result)
      progress(`${scheme} ${name}: ${result.cpuMicroseconds.toFixed(1)} µs, ${result.failures} failures`)
    }
  }
  return new Map([...results].map(([name, of]) => [name, medianOf(of)]))
}

function medianOf(results: readonly LoadResult[]): LoadResult {
  const middle = (of: (result: LoadResult) => number) => percentile(results.map(of), 0.5)
  return {
    cpuMicroseconds: middle((result) => result.cpuMicroseconds),
    p50Ms: middle((result) => result.p50Ms),
    p99Ms: middle((result) => result.p99Ms),
    perSecond: middle((result) => result.perSecond),
    failures: results.reduce((sum, { failures }) => sum + failures, 0),
  }
}

const figures = [
  { metric: 'CPU per request', unit: 'µs', of: (result: LoadResult) => result.cpuMicroseconds },
  { metric: 'p99', unit: 'ms', of: (result: LoadResult) => result.p99Ms },
  { metric: 'requests per second', unit: '1/s', of: (result: LoadResult) => result.perSecond },
]

function loadRows(scheme: string, results: ReadonlyMap<string, LoadResult>): BenchRow[] {
  const ours = ['haproxy driver', 'in-process driver']
  const rows: BenchRow[] = []
  for (const name of ours) {
    const own = results.get(name)
    if (own === undefined) continue
    rows.push(measureAlone(`${scheme}, 200 rules, ${name}: requests that failed`, '', own.failures))
    for (const [peerName, peer] of results) {
      if (ours.includes(peerName)) continue
      for (const { metric, unit, of } of figures)
        rows.push(compare(`${scheme}, 200 rules, ${name}: ${metric}`, unit, of(own), peerName, of(peer)))
    }
  }
  return rows
}

async function measureLoads(agents: readonly Proxy[]): Promise<BenchRow[]> {
  const peers = [
    { name: 'bare haproxy', ports: haproxyPorts, program: await startHaproxy('bare', haproxyPorts, 'none') },
    {
      name: 'haproxy with edge headers',
      ports: headersPorts,
      program: await startHaproxy('headers', headersPorts, 'edge'),
    },
    {
      name: 'haproxy with all promises',
      ports: promisesPorts,
      program: await startHaproxy('promises', promisesPorts, 'promises'),
    },
    { name: 'nginx', ports: nginxPorts, program: await startPeerNginx() },
  ]
  await sleep(1000)
  const proxies = [
    ...agents,
    ...peers.map(({ name, ports, program }) => ({ name, ports, cpuSeconds: () => usageOf(program.pid).cpuSeconds })),
  ]
  const rows = [
    ...loadRows('plain', await measureProxies(proxies, 'http')),
    ...loadRows('TLS', await measureProxies(proxies, 'https')),
  ]
  for (const { program } of peers) await end(program)
  return rows
}

/** One endpoint takes the other's place. */
async function measureChanges(cluster: IngressCluster, name: string, ports: ProxyPorts): Promise<BenchRow[]> {
  if (first === undefined || second === undefined) throw new Error('two backends are needed')
  const prober = new Prober(ports.http)
  const tookMs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const next = round % 2 === 0 ? second : first
    await cluster.setEndpoints('probe', [next])
    tookMs.push(await prober.timeUntil(probeHost, '/', `${next.address} `))
    await sleep(100)
  }
  await cluster.setEndpoints('probe', [first])
  prober.close()
  return medianAndTail(`${name}: endpoint changed, API answer to request`, tookMs)
}

async function measureMany(cluster: IngressCluster, agent: IngressAgent): Promise<BenchRow[]> {
  const startedMs = performance.now()
  const pathOf = (path: string, index: number) => [
    { host: `many-${index}.example.com`, path, service: `many-${index}` },
  ]
  await inParallel(many, async (index) => {
    await cluster.createService(`many-${index}`, backends.slice(0, 2))
    await cluster.createIngress(`many-${index}`, pathOf('/', index))
  })
  const prober = new Prober(agent.ports.http)
  await prober.timeUntil(`many-${many - 1}.example.com`, '/', '10.')
  progress(`${many} Ingresses made and served after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
  await sleep(5000)
  const changed: number[] = []
  const created: number[] = []
  for (let round = 0; round < rounds; round++) {
    const path = `/version-${round}`
    await cluster.replaceIngress('many-7', [...pathOf(path, 7)])
    changed.push(await prober.timeUntil('many-7.example.com', path, '10.'))
    await sleep(100)
    await cluster.createIngress(`more-${round}`, [{ host: `more-${round}.example.com`, path: '/', service: 'many-8' }])
    created.push(await prober.timeUntil(`more-${round}.example.com`, '/', '10.'))
    await sleep(100)
  }
  prober.close()
  const { agent: agentMiB, engine } = agent.residentMiB()
  return [
    ...medianAndTail(`${many} Ingresses: one changed, API answer to request`, changed),
    ...medianAndTail(`${many} Ingresses: one more, API answer to request`, created),
    measureAlone(`${many} Ingresses: resident memory of the agent`, 'MiB', agentMiB),
    measureAlone(`${many} Ingresses: resident memory of haproxy`, 'MiB', engine),
  ]
}

async function end(program: RunningProgram): Promise<void> {
  program.kill('SIGTERM')
  await program.exited
}

/** A certificate for all hosts of the load, also as files for the peers. */
async function makeCertificate(): Promise<{ readonly chain: string; readonly key: string }> {
  const [certificate, key] = [writeFile('site.crt', ''), writeFile('site.key', '')]
  const names = hosts.map((host) => `DNS:${host}`).join(',')
  const subject = ['-subj', '/CN=shop.example.com', '-addext', `subjectAltName=${names}`]
  const form = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30']
  await runProgram('openssl', ['req', ...form, ...subject, '-out', certificate, '-keyout', key], { timeoutMs: 20_000 })
  const chain = await readFile(certificate, 'utf8')
  const keyText = await readFile(key, 'utf8')
  writeFile('site.pem', chain + keyText)
  return { chain, key: keyText }
}

async function fillCluster(cluster: IngressCluster): Promise<void> {
  await cluster.create()
  await cluster.createService('web', backends)
  await cluster.createService('probe', backends.slice(0, 1))
  await cluster.createTlsSecret('site', await makeCertificate())
  for (const host of hosts) {
    const paths = rules.filter((rule) => rule.host === host).map((rule) => ({ ...rule, service: 'web' }))
    await cluster.createIngress(host.split('.')[0] ?? host, paths, [{ hosts: [host], secretName: 'site' }])
  }
  await cluster.createIngress('probe', [{ host: probeHost, path: '/', service: 'probe' }])
}

async function measure(cluster: IngressCluster, kubeconfig: string): Promise<BenchRow[]> {
  const ready = { kubeconfig, host: probeHost, path: '/' }
  const haproxy = await IngressAgent.start('haproxy', haproxyDriverPorts, ready)
  const inProcess = await IngressAgent.start('in-process', inProcessPorts, ready)
  const agents = [
    { name: 'haproxy driver', ports: haproxy.ports, cpuSeconds: () => haproxy.servingSeconds() },
    { name: 'in-process driver', ports: inProcess.ports, cpuSeconds: () => inProcess.servingSeconds() },
  ]
  progress('both drivers answer')
  const rows: BenchRow[] = []
  if (parts.includes('load') && hasProgram('wrk', 'the rows of load')) rows.push(...(await measureLoads(agents)))
  if (parts.includes('change'))
    for (const { name, ports } of agents) rows.push(...(await measureChanges(cluster, name, ports)))
  await inProcess.stop()
  if (parts.includes('many')) rows.push(...(await measureMany(cluster, haproxy)))
  await haproxy.stop()
  return rows
}

const backendServer = await startBackends()
const flags = ['--components=api', '--dialect=kubernetes', '--disable-admission-plugins=ServiceAccount']
const server = new PlatnetServer(`${folder}/server`, await findFreePort(), {}, flags)
const cluster = new IngressCluster(await server.start())
await fillCluster(cluster)
const rows = await measure(cluster, join(server.dataDir, 'admin.kubeconfig'))
cluster.close()
await server.stop('SIGTERM')
await end(backendServer)
const report: BenchReport = { name: 'ingress', rows }
process.stdout.write(`${JSON.stringify(report)}\n`)
process.exit(0)
