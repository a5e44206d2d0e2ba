// Run by containers.test.ts in namespaces of its own: the services of deploy/container/compose.yaml under Podman, which use the network of
// this namespace as that of the machine. Argument: the folder of the engine, with the image. Prints what was seen as one line of JSON.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addAddress, addRoute, createVethPair, runProgram } from '../../../src/host/index.ts'
import { createDialect } from '../../../src/model/dialect.ts'
import { ipOf } from '../../helpers/addresses.ts'
import { AdminConnection } from '../../helpers/admin-connection.ts'
import { ContainerEngine } from '../../helpers/container-engine.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { readAdminAccess } from '../../helpers/platnet-server.ts'
import { untilAsync } from '../../helpers/until.ts'

const [folder = ''] = process.argv.slice(2)
const engine = new ContainerEngine(folder)
const file = resolve(import.meta.dirname, '../../../deploy/container/compose.yaml')
const nodeAddress = '192.0.2.11'
// 8080 is that of the controller manager, also on this address.
const webPort = 9080
const clusterAddress = '10.96.0.77'
const host = 'web.example.com'
const deadlineMs = 90_000
const { groups, labels, domain } = createDialect('platform')
const containerOf = (service: string) => `platnet_${service}_1`

/** What an operator prepares by docs/containers.md, as far as a namespace has it; and a hierarchy of control groups that crun knows. */
async function prepareMachine(): Promise<void> {
  const prepare = `umount -l -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
    sysctl -qw net.ipv4.ip_forward=1`
  await runProgram('sh', ['-ec', prepare], { timeoutMs: 10_000 })
  mkdirSync('/run/platnet')
  await createVethPair({ name: 'eth0' }, { name: 'far' })
  await runProgram('ip', ['link', 'set', 'far', 'up'], { timeoutMs: 10_000 })
  await addAddress({ name: 'eth0' }, { ip: ipOf(nodeAddress), prefixLength: 24 })
  // Where no route leads to the network of Services, the kernel refuses before any rule is asked.
  await addRoute({ destination: 'default', via: ipOf('192.0.2.254') })
  createServer((_, response) => response.end('web')).listen(webPort, nodeAddress)
}

/** podman-compose of today does not wait for conditions without systemd, so the order of `depends_on` is kept here. */
async function start(service: string): Promise<void> {
  await engine.compose(file, 'up', '-d', '--no-deps', '--force-recreate', service)
}

async function waitHealthy(service: string): Promise<void> {
  const isHealthy = () => engine.isHealthy(containerOf(service))
  await untilAsync(`${service} is healthy`, isHealthy, deadlineMs).catch(async (cause) => {
    throw new Error((await engine.podman('logs', '--tail', '20', containerOf(service))).slice(-4000), { cause })
  })
}

async function startAll(): Promise<void> {
  await start('server')
  await waitHealthy('server')
  await start('credentials')
  const code = (await engine.podman('wait', containerOf('credentials'))).trim()
  if (code !== '0') throw new Error(`credentials ended with ${code}`)
  await start('agent')
  await waitHealthy('agent')
}

async function create(admin: AdminConnection, path: string, body: object): Promise<void> {
  const reply = await admin.call('POST', path, body)
  if (reply.code !== 201) throw new Error(`${path}: ${JSON.stringify(reply.body)}`)
}

/** A Service with one endpoint on this machine, and an Ingress for it. */
async function createObjects(): Promise<void> {
  const access = await readAdminAccess(join(folder, 'storage/volumes/platnet_server/_data/admin.kubeconfig'))
  const admin = new AdminConnection(access, 1)
  const metadata = { name: 'web' }
  const spec = { clusterIP: clusterAddress, ports: [{ port: 80, targetPort: webPort }] }
  await create(admin, '/api/v1/namespaces/default/services', { metadata, spec })
  const slice = { addressType: 'IPv4', endpoints: [{ addresses: [nodeAddress] }], ports: [{ port: webPort }] }
  await create(admin, `/apis/${groups.discovery}/v1/namespaces/default/endpointslices`, {
    metadata: { ...metadata, labels: { [labels.serviceName]: 'web' } },
    ...slice,
  })
  const networking = `/apis/${groups.networking}/v1`
  await create(admin, `${networking}/ingressclasses`, { metadata, spec: { controller: `${domain}/ingress` } })
  const backend = { service: { name: 'web', port: { number: 80 } } }
  const rules = [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }]
  await create(admin, `${networking}/namespaces/default/ingresses`, {
    metadata,
    spec: { ingressClassName: 'web', rules },
  })
  admin.close()
}

/** The body of an answer, or the reason why there is none. */
async function ask(options: { readonly host: string; readonly headers?: Record<string, string> }): Promise<string> {
  return httpGet({ ...options, port: 80, timeout: 10_000 }).then(
    ({ body }) => body,
    (error) => String(error),
  )
}

async function dig(): Promise<string> {
  const query = ['+short', '+time=1', '+tries=1', 'web.default.svc.cluster.local', '@10.96.0.10']
  return runProgram('dig', query, { timeoutMs: 10_000 }).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  )
}

async function pidOf(service: string): Promise<number> {
  return Number(await engine.podman('inspect', '--format', '{{.State.Pid}}', containerOf(service)))
}

/** Whether the health check fails while the service is stuck. */
async function isFoundStuck(service: string): Promise<boolean> {
  const pid = await pidOf(service)
  process.kill(pid, 'SIGSTOP')
  const isHealthy = await engine.isHealthy(containerOf(service))
  process.kill(pid, 'SIGCONT')
  await waitHealthy(service)
  return !isHealthy
}

/** Asks the Service again and again while the agent's container is restarted. */
async function restartUnderLoad(): Promise<{ asked: number; failures: string[] }> {
  let isOver = false
  const seen = { asked: 0, failures: [] as string[] }
  const asking = (async () => {
    for (; !isOver; seen.asked += 1) {
      const answer = await ask({ host: clusterAddress })
      if (answer !== 'web') seen.failures.push(answer)
      await sleep(5)
    }
  })()
  await engine.podman('restart', containerOf('agent'))
  await waitHealthy('agent')
  isOver = true
  await asking
  return seen
}

/** Names of processes that ended and that the agent, as the first process of its container, left unread. */
async function zombiesOfAgent(): Promise<string[]> {
  const parent = await pidOf('agent')
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return processes.flatMap((pid) => {
    const [, name = '', state, owner] = /\((.*)\) (\w) (\d+)/.exec(statOf(pid)) ?? []
    return state === 'Z' && Number(owner) === parent ? [name] : []
  })
}

/** proc(5); empty for a process that is gone. */
function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}

async function effectiveCapabilities(service: string): Promise<string> {
  return /CapEff:\s+(\w+)/.exec(readFileSync(`/proc/${await pidOf(service)}/status`, 'utf8'))?.[1] ?? ''
}

async function ourRules(): Promise<number> {
  const { stdout } = await runProgram('nft', ['list', 'ruleset'], { timeoutMs: 10_000 })
  return stdout.split('\n').filter((line) => line.includes('PLAT-')).length
}

await prepareMachine()
await startAll()
await createObjects()
await untilAsync('the Service answers', async () => (await ask({ host: clusterAddress })) === 'web', deadlineMs)
await untilAsync('the name is there', async () => (await dig()) === clusterAddress, deadlineMs)
const byIngress = () => ask({ host: nodeAddress, headers: { host } })
await untilAsync('the Ingress answers', async () => (await byIngress()) === 'web', deadlineMs)
const inside = ['exec', containerOf('agent')]
const seen = {
  fromInside: await engine.podman(...inside, 'curl', '-s', `http://${clusterAddress}/`),
  stuck: { server: await isFoundStuck('server'), agent: await isFoundStuck('agent') },
  restart: await restartUnderLoad(),
  afterRestart: { name: await dig(), zombies: await zombiesOfAgent() },
  capabilities: { server: await effectiveCapabilities('server'), agent: await effectiveCapabilities('agent') },
  isRootWritable: await engine.podman(...inside, 'touch', '/etc/written').then(
    () => true,
    () => false,
  ),
  rulesBefore: await ourRules(),
}
await engine.compose(file, 'stop', 'agent')
await engine.compose(file, 'run', '--rm', '--no-deps', '-T', 'agent', 'cleanup', '--yes')
const rulesAfter = await ourRules()
await engine.compose(file, 'down', '--volumes')
const left = `${await engine.podman('ps', '--all', '--quiet')}${await engine.podman('volume', 'ls', '--quiet')}`
await engine.remove()
process.stdout.write(`${JSON.stringify({ ...seen, rulesAfter, left })}\n`)
process.exit(0)
