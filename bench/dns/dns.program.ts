// Run by dns.ts in namespaces of its own: an API server here, the DNS servers as processes beside it, dnsperf against each.
// Prints the report as one line of JSON.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createApiServer } from '../../src/api/index.ts'
import { openMemoryStore } from '../../src/api/store/index.ts'
import { ensureServerTls, ensureServiceAccountSigner, writeKubeconfigs } from '../../src/app/cluster-files.ts'
import { ApiClient, type ClusterAccess, loadKubeconfig } from '../../src/client/index.ts'
import { type RunningProgram, startProgram } from '../../src/host/index.ts'
import { createDialect } from '../../src/model/dialect.ts'
import { createMetrics, silentLogger } from '../../src/observe/index.ts'
import { cidrOf, ipOf } from '../../test/helpers/addresses.ts'
import { residentMiB } from '../../test/helpers/platnet-server.ts'
import { type BenchRow, compare, measureAlone, percentile } from '../report.ts'
import { type LoadSeen, type LoadTarget, loadServer } from './load.ts'
import { startPings, untilAnswered } from './pings.ts'

const seconds = Number(process.env['BENCH_SECONDS'] ?? 4)
const sizes = (process.env['BENCH_SERVICES'] ?? '1000,10000').split(',').map(Number)
const dialect = createDialect('kubernetes')
const root = path.resolve(import.meta.dirname, '../..')
const dataDir = '/run/bench'
const apiPort = 6443
const ports = { platnet: 5301, coredns: 5302, unbound: 5303, dnsmasq: 5304, upstream: 5305 }
const identity = { dataDir, bindAddress: ipOf('127.0.0.1'), serviceCidr: cidrOf('10.96.0.0/12'), nodeName: 'node-1' }
const store = openMemoryStore({ log: silentLogger })
const coredns = path.join(root, '.cache/peer/coredns')

async function startApi() {
  const api = createApiServer({
    store,
    dialect,
    serviceCidr: identity.serviceCidr,
    nodePortRange: { first: 30000, last: 32767 },
    tls: await ensureServerTls(identity),
    bindAddress: identity.bindAddress,
    advertiseAddress: undefined,
    port: apiPort,
    staticTokens: [],
    serviceAccounts: await ensureServiceAccountSigner(dataDir, 'https://issuer.example'),
    sweepsNamespaces: true,
    authorizationMode: 'RBAC',
    components: () => [],
    metrics: createMetrics(),
    log: silentLogger,
  })
  await api.start()
  return api
}

const nameOf = (index: number) => `web-${index}.default.svc.cluster.local`
const addressOf = (index: number) =>
  `10.${100 + Math.floor(index / 65_000)}.${Math.floor(index / 250) % 250}.${(index % 250) + 1}`

function serviceObject(index: number) {
  const spec = { clusterIP: addressOf(index), ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: `web-${index}` }, spec }
}

function sliceObject(index: number) {
  const endpoint = (offset: number) => ({
    addresses: [`10.244.${Math.floor(index / 120) % 250}.${((index % 120) * 2 + offset) % 254}`],
    conditions: { ready: true },
  })
  return {
    apiVersion: `${dialect.groups.discovery}/v1`,
    kind: 'EndpointSlice',
    metadata: { name: `web-${index}-a`, labels: { [dialect.labels.serviceName]: `web-${index}` } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [endpoint(0), endpoint(1)],
  }
}

async function fill(client: ApiClient, from: number, to: number): Promise<void> {
  const inDefault = { namespace: 'default' }
  const services = { resource: { group: '', version: 'v1', resource: 'services' }, ...inDefault }
  const slices = {
    resource: { group: dialect.groups.discovery, version: 'v1', resource: 'endpointslices' },
    ...inDefault,
  }
  let next = from
  const worker = async () => {
    while (next < to) {
      const index = next
      next += 1
      await client.create(services, serviceObject(index))
      await client.create(slices, sliceObject(index))
    }
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

function writeFile(name: string, text: string): string {
  const file = path.join(dataDir, name)
  writeFileSync(file, text)
  return file
}

async function startServer(file: string, args: readonly string[], port: number): Promise<LoadTarget> {
  const program: RunningProgram = await startProgram(file, args, { stderr: 'inherit' })
  return { address: '127.0.0.1', port, pid: program.pid }
}

function startPlatnet(): Promise<LoadTarget> {
  const corefile = writeFile(
    'Corefile.platnet',
    `.:${ports.platnet} {
  bind 127.0.0.1
  errors
  kubernetes cluster.local in-addr.arpa { 
    pods insecure
    fallthrough in-addr.arpa
    ttl 30
  }
  forward . 127.0.0.1:${ports.upstream}
  cache 30
  loadbalance
}
`,
  )
  const flags = [
    '--components=dns',
    `--data-dir=${dataDir}`,
    `--kubeconfig=${dataDir}/admin.kubeconfig`,
    `--corefile=${corefile}`,
  ]
  const main = path.join(root, 'src/main.ts')
  return startServer(
    process.execPath,
    [main, 'agent', ...flags, '--node-name=node-1', '--log-level=warn'],
    ports.platnet,
  )
}

function startCoredns(access: ClusterAccess): Promise<LoadTarget> {
  const tls = [
    writeFile('admin.crt', access.clientCertificate ?? ''),
    writeFile('admin.key', access.clientKey ?? ''),
    writeFile('ca.crt', access.certificateAuthority ?? ''),
  ]
  const corefile = writeFile(
    'Corefile.coredns',
    `.:${ports.coredns} {
  bind 127.0.0.1
  errors
  kubernetes cluster.local in-addr.arpa {
    endpoint https://127.0.0.1:${apiPort}
    tls ${tls.join(' ')}
    pods insecure
    fallthrough in-addr.arpa
    ttl 30
  }
  forward . 127.0.0.1:${ports.upstream}
  cache 30
  loadbalance
}
`,
  )
  return startServer(coredns, ['-conf', corefile, '-quiet'], ports.coredns)
}

function startUnbound(names: number): Promise<LoadTarget> {
  const data = Array.from(
    { length: names },
    (_, index) => `local-data: "${nameOf(index)}. 30 IN A ${addressOf(index)}"`,
  )
  const file = writeFile(
    'unbound.conf',
    `server:
  interface: 127.0.0.1@${ports.unbound}
  num-threads: 2
  so-reuseport: yes
  username: ""
  chroot: ""
  directory: "${dataDir}"
  pidfile: ""
  use-syslog: no
  verbosity: 0
  do-not-query-localhost: no
  module-config: "iterator"
  local-zone: "test." nodefault
  local-zone: "cluster.local." static
  ${data.join('\n  ')}
remote-control:
  control-enable: no
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@${ports.upstream}
`,
  )
  return startServer('unbound', ['-d', '-c', file], ports.unbound)
}

function startDnsmasq(names: number): Promise<LoadTarget> {
  const hosts = writeFile(
    'hosts',
    Array.from({ length: names }, (_, index) => `${addressOf(index)} ${nameOf(index)}`).join('\n'),
  )
  const args = [
    '--keep-in-foreground',
    '--no-resolv',
    '--no-hosts',
    `--addn-hosts=${hosts}`,
    `--port=${ports.dnsmasq}`,
    '--listen-address=127.0.0.1',
  ]
  return startServer(
    'dnsmasq',
    [
      ...args,
      '--bind-interfaces',
      '--local=/cluster.local/',
      '--user=root',
      '--pid-file=',
      `--server=127.0.0.1#${ports.upstream}`,
      '--cache-size=10000',
      '--dns-forward-max=1000',
    ],
    ports.dnsmasq,
  )
}

/** Any name below example.test has an address there. */
function startUpstream(): Promise<LoadTarget> {
  const args = [
    '--keep-in-foreground',
    '--no-resolv',
    '--no-hosts',
    `--port=${ports.upstream}`,
    '--listen-address=127.0.0.1',
    '--bind-interfaces',
  ]
  return startServer(
    'dnsmasq',
    [...args, '--user=root', '--pid-file=', '--address=/example.test/192.0.2.80', '--local-ttl=300'],
    ports.upstream,
  )
}

function isFound(message: Buffer): boolean {
  return (message.readUInt16BE(2) & 0xf) === 0 && message.readUInt16BE(6) > 0
}

async function untilServing(target: LoadTarget, name: string): Promise<void> {
  await untilAnswered(target.address, target.port, name, isFound)
}

type Peers = Readonly<Record<string, LoadTarget>>

/** Each server under the same load, one after the other; ours twice, and the mean taken. */
async function compareLoads(
  what: string,
  ours: LoadTarget,
  peers: Peers,
  queries: readonly string[],
): Promise<BenchRow[]> {
  const first = await loadServer(ours, queries, seconds)
  const seen: [string, LoadSeen][] = []
  for (const [name, peer] of Object.entries(peers)) seen.push([name, await loadServer(peer, queries, seconds)])
  const second = await loadServer(ours, queries, seconds)
  const mean = (pick: (load: LoadSeen) => number) => (pick(first) + pick(second)) / 2
  return [
    ...seen.flatMap(([name, load]) => [
      compare(
        `${what}: CPU per query`,
        'µs',
        mean((one) => one.cpuMicrosPerQuery),
        name,
        load.cpuMicrosPerQuery,
      ),
      compare(
        `${what}: queries per second`,
        '1/s',
        mean((one) => one.queriesPerSecond),
        name,
        load.queriesPerSecond,
      ),
    ]),
    measureAlone(`${what}: queries without an answer`, '', first.lost + second.lost),
  ]
}

async function measureChanges(client: ApiClient, ours: LoadTarget): Promise<readonly number[]> {
  const services = { resource: { group: '', version: 'v1', resource: 'services' }, namespace: 'default' }
  const tookMs: number[] = []
  for (let index = 0; index < 200; index += 1) {
    const metadata = { name: `change-${index}` }
    const spec = { clusterIP: `10.110.1.${index + 1}`, ports: [{ port: 80 }] }
    await client.create(services, { apiVersion: 'v1', kind: 'Service', metadata, spec })
    tookMs.push(await untilAnswered(ours.address, ours.port, `change-${index}.default.svc.cluster.local`, isFound))
  }
  return tookMs
}

/** The informers stand before a write that nobody can tell them of any more: they list everything again. */
async function forceRelist(api: Awaited<ReturnType<typeof startApi>>) {
  await api.stop({ signal: AbortSignal.timeout(10_000) })
  const value = JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'other', namespace: 'default' },
  })
  await store.commit([{ kind: 'put', key: '/registry/configmaps/default/other', value, expectedRevision: 0 }])
  await store.compact(store.revision)
  return startApi()
}

async function measure(): Promise<readonly BenchRow[]> {
  mkdirSync(dataDir, { recursive: true })
  const most = Math.max(...sizes)
  let api = await startApi()
  await writeKubeconfigs(identity, apiPort)
  const access = await loadKubeconfig(`${dataDir}/admin.kubeconfig`)
  const client = new ApiClient(access)
  await startUpstream()
  const ours = await startPlatnet()
  const rows: BenchRow[] = []
  const [unbound, dnsmasq] = [await startUnbound(most), await startDnsmasq(most)]
  const cluster: Record<string, LoadTarget> = existsSync(coredns) ? { CoreDNS: await startCoredns(access) } : {}
  let filled = 0
  for (const size of sizes) {
    await fill(client, filled, size)
    filled = size
    for (const target of [ours, unbound, dnsmasq, ...Object.values(cluster)])
      await untilServing(target, nameOf(size - 1))
    const names = Array.from({ length: size }, (_, index) => `${nameOf((index * 7919) % size)} A`)
    rows.push(...(await compareLoads(`${size} Services, cluster names`, ours, { ...cluster, unbound, dnsmasq }, names)))
    for (const [name, { pid }] of Object.entries(cluster))
      rows.push(
        compare(
          `${size} Services, ${size * 2} endpoints: memory`,
          'MiB',
          residentMiB(ours.pid),
          name,
          residentMiB(pid),
        ),
      )
  }
  const searched = Array.from({ length: 2_000 }, (_, index) => `host-${index}.example.test.default.svc.cluster.local A`)
  rows.push(...(await compareLoads('NXDOMAIN through a search path', ours, { ...cluster, unbound, dnsmasq }, searched)))
  const kept = Array.from({ length: 200 }, (_, index) => `kept-${index}.example.test A`)
  rows.push(...(await compareLoads('forwarded names, cached', ours, { ...cluster, unbound, dnsmasq }, kept)))
  rows.push(...(await compareUncached(ours, { ...cluster, unbound })))
  const changes = await measureChanges(client, ours)
  rows.push(measureAlone('change visible after the commit, p99', 'ms', percentile(changes, 0.99)))
  const pings = startPings(ours.address, ours.port, nameOf(1), 1)
  api = await forceRelist(api)
  const services = { resource: { group: '', version: 'v1', resource: 'services' }, namespace: 'default' }
  await new ApiClient(access).create(services, serviceObject(most))
  await untilAnswered(ours.address, ours.port, nameOf(most), isFound)
  const relist = await pings.finish()
  rows.push(measureAlone(`answers while ${most} Services are relisted, p99`, 'ms', percentile(relist, 0.99)))
  rows.push(
    measureAlone(
      'the same, questions without an answer',
      '',
      relist.filter((ms) => ms === Number.POSITIVE_INFINITY).length,
    ),
  )
  await api.stop({ signal: AbortSignal.timeout(10_000) })
  return rows
}

/** Names that nobody has asked before, other ones for each server. */
async function compareUncached(ours: LoadTarget, peers: Peers): Promise<BenchRow[]> {
  const load = (target: LoadTarget, label: string) =>
    loadServer(
      target,
      Array.from({ length: 200_000 }, (_, index) => `${label}-${index}.example.test A`),
      Math.min(seconds, 3),
    )
  const mine = await load(ours, 'p')
  const rows: BenchRow[] = []
  for (const [name, peer] of Object.entries(peers)) {
    const theirs = await load(peer, name.toLowerCase())
    rows.push(
      compare(
        'forwarded names, not cached: CPU per query',
        'µs',
        mine.cpuMicrosPerQuery,
        name,
        theirs.cpuMicrosPerQuery,
      ),
    )
    rows.push(
      compare(
        'forwarded names, not cached: queries per second',
        '1/s',
        mine.queriesPerSecond,
        name,
        theirs.queriesPerSecond,
      ),
    )
  }
  return rows
}

measure().then(
  (rows) => {
    process.stdout.write(`${JSON.stringify({ name: `DNS, ${seconds} s a load`, rows })}\n`)
    process.exit(0)
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`)
    process.exit(1)
  },
)
