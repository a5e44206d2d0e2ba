// Run by compare.ts in namespaces of its own: an API server, and on one node first kube-proxy where it is built, then our agent in the modes
// that are asked for. Prints as one line of JSON what became of the same packets and questions under each.
import { existsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type RunningProgram, runProgram } from '../../../src/host/index.ts'
import { AdminConnection } from '../../helpers/admin-connection.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { type Got, httpGet } from '../../helpers/http-get.ts'
import { kubeProxyProgram } from '../../helpers/kube-proxy.ts'
import { NetnsLab } from '../../helpers/netns.ts'
import { PlatnetServer } from '../../helpers/platnet-server.ts'
import { untilAsync } from '../../helpers/until.ts'
import { PacketLab, places } from '../../kernel/netfilter/packet-lab.ts'
import {
  boundService,
  createCluster,
  families,
  fixedCases,
  nodeName,
  nodePortOf,
  nodeToServer,
  serverAddress,
} from './cluster.ts'
import { type Observed, observe } from './observe.ts'
import { randomCases } from './random-cases.ts'
import { type ProxyMode, type Run, type Settings, settingsOf } from './settings.ts'

const dataDir = '/run/server'
const kubeconfig = join(dataDir, 'admin.kubeconfig')
const podNetworks = families.map((family) => places[family].podCidr).join()
const deadlineMs = 60_000

interface Proxy {
  readonly stderr: 'inherit' | 'ignore'
  readonly command: readonly [file: string, ...args: string[]]
  isReady(): Promise<boolean>
  metrics(): Promise<Got>
}

function kubeProxy({ config: asked }: Settings): Proxy {
  const config = '/run/kube-proxy.yaml'
  const { mode } = run
  // The default of the mode nftables is `primary`; ours is the same in both modes.
  const nodePortAddresses = mode === 'nftables' ? ['0.0.0.0/0', '::/0'] : []
  writeFileSync(config, JSON.stringify({ ...kubeProxyConfig, mode, nodePortAddresses, ...asked }))
  const metrics = () => httpGet({ host: nodeToServer, port: 10249, path: '/metrics' })
  return {
    stderr: 'ignore',
    command: [kubeProxyProgram, '--config', config, '--hostname-override', nodeName, '--v=0'],
    isReady: async () => {
      const { body } = await metrics()
      return families.every((family) =>
        new RegExp(`^kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="${family}"} [1-9]`, 'm').test(body),
      )
    },
    metrics,
  }
}

/** Node ports on loopback are a choice of kube-proxy's that we do not offer (src/node/proxy/README.md). */
const kubeProxyConfig = {
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  iptables: { localhostNodePorts: false },
  clusterCIDR: podNetworks,
  metricsBindAddress: '0.0.0.0:10249',
  healthzBindAddress: '0.0.0.0:10256',
  clientConnection: { kubeconfig, contentType: 'application/json', acceptContentTypes: 'application/json' },
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
}

function platnet({ flags: asked }: Settings, mode: ProxyMode): Proxy {
  const flags = [
    `--node-name=${nodeName}`,
    `--cluster-cidr=${podNetworks}`,
    '--components=proxy',
    '--public-metrics',
    `--proxy-mode=${mode}`,
  ]
  const files = [`--kubeconfig=${kubeconfig}`, '--data-dir=/run/agent', '--control-socket=/run/agent.sock']
  const ask = (path: string) => httpGet({ host: nodeToServer, port: 10250, path, ca: '', rejectUnauthorized: false })
  return {
    stderr: 'inherit',
    command: [resolve('scripts/platnet'), 'agent', ...flags, ...asked, ...files, '--log-level=warn'],
    isReady: async () => (await ask('/readyz')).status === 200,
    metrics: () => ask('/metrics'),
  }
}

/** What load balancers receive. */
async function askHealth(): Promise<Record<string, unknown>> {
  const ask = (port: number, path: string, host: string = nodeToServer) =>
    httpGet({ host, port, path }).then(describeHealth, (error: Error) => error.message.replace(/^connect /, ''))
  const checks = cases.flatMap(({ title }, index) => {
    const port = healthPorts.get(index + 1)
    return port === undefined ? [] : [[`health port, ${title}`, port] as const]
  })
  const answers = checks.flatMap(([name, port]) => [
    [name, ask(port, '/')] as const,
    [`${name}, a path of its own`, ask(port, '/any/path')] as const,
    [`${name}, by IPv6`, ask(port, '/', places.IPv6.node)] as const,
  ])
  const found = await Promise.all(answers.map(async ([name, answer]) => [name, await answer] as const))
  return Object.fromEntries([
    ...found,
    ['/healthz', await ask(10256, '/healthz')],
    ['/livez', await ask(10256, '/livez')],
  ])
}

const run: Run = JSON.parse(process.argv[2] ?? '{}')
const settings = settingsOf(run.settings)
const cases = run.random === undefined ? fixedCases : randomCases(run.random)
const healthPorts = new Map<number, number>()

/** Times are those of the question. */
function describeHealth({ status, headers, body }: Got): unknown {
  const names = ['content-type', 'x-content-type-options', 'x-load-balancing-endpoint-weight']
  return {
    status,
    headers: Object.fromEntries(names.map((name) => [name, headers[name]])),
    body: body.replaceAll(/"[^"]*\d\d:\d\d:\d\d[^"]*"/g, '"TIME"').replaceAll(/\s/g, ''),
  }
}

/** `name{label,label} type` of all of the proxy's own metrics. */
function listMetrics({ body }: Got): string[] {
  const types = new Map([...body.matchAll(/^# TYPE (\S+) (\S+)/gm)].map(([, name = '', type = '']) => [name, type]))
  const samples = [...body.matchAll(/^(kubeproxy_\w+?)(_bucket|_sum|_count)?(?:\{(.*)\})? \S+$/gm)]
  const found = samples.map(([, base = '', suffix = '', labels = '']) => {
    const name = types.has(base) ? base : base + suffix
    const names = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label).filter((label) => label !== 'le')
    return `${name}{${names.sort().join()}} ${types.get(name)}`
  })
  return [...new Set(found)].sort()
}

async function watch(proxy: Proxy, lab: PacketLab, connection: AdminConnection, expected?: Observed) {
  for (const [command, ...words] of settings.ofOthers ?? []) await lab.node.exec(command, ...words)
  const [file, ...args] = proxy.command
  const program: RunningProgram = await lab.node.start(file, args, { stdout: 'ignore', stderr: proxy.stderr })
  await untilAsync(`${file} is ready`, () => proxy.isReady().catch(() => false), deadlineMs)
  const packets = await observe(lab, cases, expected)
  const health = await askHealth()
  await setTaint(connection, [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }])
  const isLeaving = async () => (await httpGet({ host: nodeToServer, port: 10256, path: '/healthz' })).status === 503
  await untilAsync('the node is reported as leaving', isLeaving, deadlineMs)
  const leaving = await askHealth()
  await setTaint(connection, [])
  await countPartialSync(proxy, connection)
  const metrics = listMetrics(await proxy.metrics())
  program.kill('SIGKILL')
  await program.exited
  await lab.clear()
  await lab.nft('flush ruleset\n')
  // A socket of the next proxy's turn that gets the port of one of this turn would meet the endpoint that this proxy chose.
  await lab.forgetConnections()
  return { packets, health, leaving, metrics }
}

/** Changes one Service: the first sync, which writes everything, may have had all that there is. */
async function countPartialSync(proxy: Proxy, connection: AdminConnection): Promise<void> {
  const services = '/api/v1/namespaces/default/services'
  const late = { kind: 'Service', apiVersion: 'v1', metadata: { name: 'late' }, spec: { ports: [{ port: 80 }] } }
  await connection.call('POST', services, late)
  const count = /^kubeproxy_sync_partial_proxy_rules_duration_seconds_count(\{.*\})? [1-9]/m
  const isCounted = async () => count.test((await proxy.metrics()).body)
  await untilAsync('a sync of what changed is counted', isCounted, deadlineMs)
  await connection.call('DELETE', `${services}/late`)
}

async function setTaint(connection: AdminConnection, taints: readonly object[]): Promise<void> {
  await connection.call('PATCH', `/api/v1/nodes/${nodeName}`, { spec: { taints } })
}

async function joinServer(lab: PacketLab): Promise<void> {
  const ip = (...args: string[]) => runProgram('ip', args, { timeoutMs: 10_000 })
  await ip('link', 'add', 'node0', 'type', 'veth', 'peer', 'name', 'srv0', 'netns', lab.node.name)
  await ip('address', 'add', `${serverAddress}/30`, 'dev', 'node0')
  await ip('link', 'set', 'node0', 'up')
  await lab.node.exec('ip', 'address', 'add', `${nodeToServer}/30`, 'dev', 'srv0')
  await lab.node.exec('ip', 'link', 'set', 'srv0', 'up')
  await ip('-6', 'address', 'add', '2001:db8:9::1/64', 'dev', 'node0', 'nodad')
  await lab.node.exec('ip', '-6', 'address', 'add', '2001:db8:9::2/64', 'dev', 'srv0', 'nodad')
  await ip('-6', 'route', 'add', `${places.IPv6.node}/128`, 'via', '2001:db8:9::2')
}

async function readHealthPorts(connection: AdminConnection): Promise<void> {
  for (const n of cases.keys().map((index) => index + 1)) {
    const { body } = await connection.call('GET', `/api/v1/namespaces/default/services/s${n}`)
    if (body.spec.healthCheckNodePort) healthPorts.set(n, body.spec.healthCheckNodePort)
  }
}

async function compare() {
  const netns = new NetnsLab()
  const onLoopback = families.map((family) => `${places[family].vip(boundService)}/${family === 'IPv4' ? 32 : 128}`)
  const lab = await PacketLab.build(netns, 'nft', {
    nodePorts: [82, ...cases.flatMap((_, index) => [nodePortOf(index + 1), nodePortOf(index + 1, 1)])],
    onLoopback,
  })
  await joinServer(lab)
  const flags = ['--components=api', '--dialect=kubernetes', `--bind-address=${serverAddress}`]
  const server = new PlatnetServer(dataDir, await findFreePort(), {}, flags)
  const connection = new AdminConnection(await server.start(), 4)
  await createCluster(connection, cases)
  await readHealthPorts(connection)
  const hasPeer = existsSync(kubeProxyProgram) && settings.ofOthers === undefined
  const theirs = hasPeer ? await watch(kubeProxy(settings), lab, connection) : null
  const first =
    run.mode === 'iptables' ? await watch(platnet(settings, 'iptables'), lab, connection, theirs?.packets) : null
  const nftables = await watch(platnet(settings, 'nftables'), lab, connection, theirs?.packets ?? first?.packets)
  return { theirs, ours: { iptables: first, nftables } }
}

process.stdout.write(`${JSON.stringify(await compare())}\n`, () => process.exit(0))
