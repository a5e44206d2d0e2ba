// Run by served-dns.test.ts in namespaces of its own: an API server and an agent in one process, pods that ask 10.96.0.10.
// Prints what was seen as one line of JSON; the test judges it.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openMemoryStore } from '../../src/api/store/index.ts'
import { askStatus } from '../../src/app/commands/ask-agent.ts'
import { writeKubeconfigs } from '../../src/app/composition/cluster-files.ts'
import { runCli } from '../../src/cli/run-cli.ts'
import { ApiClient, loadKubeconfig } from '../../src/client/index.ts'
import { HttpClusterApi } from '../../src/demo/http-cluster-api.ts'
import { Lab, nodeAddress } from '../../src/demo/lab.ts'
import { createWebService } from '../../src/demo/web-service.ts'
import { applySysctls, nodeSysctls, runProgram } from '../../src/host/index.ts'
import { createDialect } from '../../src/model/dialect.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { httpGet } from '../helpers/http-get.ts'
import { labNode, startLabAgent } from '../helpers/lab-agent.ts'
import { startLabApi } from '../helpers/lab-api.ts'
import { asReady } from '../helpers/lab-rollout.ts'
import { untilAsync } from '../helpers/until.ts'
import { questionBytes } from '../helpers/upstream-messages.ts'

const dialect = createDialect('platform')
const { identity, kubeconfig, controlSocket, port } = labNode
const clusterDns = '10.96.0.10'
const patientMs = 30_000
const log: string[] = []

const startApi = () => startLabApi({ identity, dialect, store: openMemoryStore({ log: silentLogger }), port })

function startAgent() {
  const flags = {
    kubeconfig: `${identity.dataDir}/agent.kubeconfig`,
    nodeIp: nodeAddress,
    components: 'proxy,dns,registration',
    logFormat: 'json',
  }
  return startLabAgent(flags, (line) => log.push(line))
}

async function dig(netns: string, ...args: readonly string[]): Promise<string> {
  const common = ['+time=5', '+tries=3', '+noall', '+comments', '+answer']
  const { stdout } = await runProgram('dig', [...common, ...args], { netns: netns, timeoutMs: 20_000 })
  const status = /status: (\w+)/.exec(stdout)?.[1] ?? 'none'
  const records = stdout.split('\n').filter((line) => line !== '' && !line.startsWith(';'))
  return [status, ...records.map((line) => line.replace(/\s+/g, ' '))].join(' | ')
}

function inPod(...args: readonly string[]): Promise<string> {
  return dig('plt-pod-1', `@${clusterDns}`, ...args)
}

/** Asks one question after the other until the returned function is called, which gives how many there were and how many got no answer. */
function askOnAndOn(name: string) {
  const counts = { asked: 0, lost: 0 }
  let goesOn = true
  const socket = createSocket('udp4')
  const done = (async () => {
    while (goesOn) {
      counts.asked += 1
      const answered = once(socket, 'message').then(() => true)
      socket.send(questionBytes(name), 53, clusterDns)
      const waiting = new AbortController()
      const late = sleep(10_000, false, { signal: waiting.signal }).catch(() => true)
      if (!(await Promise.race([answered, late]))) counts.lost += 1
      waiting.abort()
    }
    socket.close()
  })()
  return async () => {
    goesOn = false
    await done
    return counts
  }
}

function corefile(zones: string): string {
  return `.:53 {
  errors
  health {
    lameduck 1s
  }
  ready
  kubernetes ${zones} in-addr.arpa {
    pods insecure
    fallthrough in-addr.arpa
    ttl 30
  }
  prometheus :9153
  cache 30
  loadbalance
}
`
}

async function observe() {
  const lab = new Lab()
  await lab.build()
  await applySysctls(nodeSysctls)
  const api = await startApi()
  await writeKubeconfigs(identity, port)
  const agent = await startAgent()
  const cluster = await HttpClusterApi.connect(kubeconfig, controlSocket)
  const client = new ApiClient(await loadKubeconfig(kubeconfig))
  const configMaps = { resource: { group: '', version: 'v1', resource: 'configmaps' }, namespace: 'kube-system' }
  const configure = async (text: string) => {
    const data = { Corefile: text }
    const ref = { ...configMaps, name: 'coredns' }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'coredns' }, data }
    await client.patch(ref, { kind: 'merge', patch: { data } }).catch(() => client.create(configMaps, object))
  }
  const dnsHealth = async () => (await askStatus(controlSocket)).components['dns']
  const web = await createWebService(cluster, dialect, { name: 'web', type: 'ClusterIP', sessionAffinity: 'None' })
  const pod = await lab.startPod()
  await web.publish([asReady(pod)])
  await untilAsync('DNS is ready', async () => (await dnsHealth())?.level === 'ok', patientMs)

  const readKubeDns = async () => {
    const inSystem = { namespace: 'kube-system' }
    const core = (resource: string) => ({ resource: { group: '', version: 'v1', resource }, ...inSystem })
    const service = await client.get({ ...core('services'), name: 'kube-dns' }).catch(() => undefined)
    const mirror = await client.get({ ...core('pods'), name: 'platnet-dns-node-1' }).catch(() => undefined)
    const { clusterIP = '', ports = [] } = (service?.['spec'] ?? {}) as {
      clusterIP?: string
      ports?: { name: string }[]
    }
    const { podIP = '', conditions = [] } = (mirror?.['status'] ?? {}) as {
      podIP?: string
      conditions?: { type: string; status: string }[]
    }
    const ready = conditions.find(({ type }) => type === 'Ready')?.status ?? ''
    return `${clusterIP} ${ports.map((one) => one.name).join()} ${podIP} ${ready}`
  }
  await untilAsync('this node is an endpoint', async () => (await readKubeDns()).endsWith('True'), patientMs)
  const kubeDns = await readKubeDns()

  const name = 'web.default.svc.cluster.local'
  const asked = {
    clusterIp: web.clusterIp,
    overUdp: await inPod(name),
    overTcp: await inPod('+tcp', name),
    srv: await inPod('SRV', name),
    ptr: await inPod('-x', web.clusterIp),
    missing: await inPod(`no.${name}`),
    podName: await inPod('10-1-2-3.default.pod.cluster.local'),
    nodeAddressFromPod: await dig('plt-pod-1', `@${nodeAddress}`, name),
    nodeAddressFromOutside: await dig('plt-client', `@${nodeAddress}`, name),
    curl: (
      await runProgram('curl', ['-sS', '--max-time', '5', `http://${web.clusterIp}:${web.port}/`], {
        netns: 'plt-pod-1',
        timeoutMs: 10_000,
      })
    ).stdout,
  }

  const fresh: string[] = []
  for (let count = 0; count < 5; count += 1) {
    const made = await createWebService(cluster, dialect, {
      name: `new-${count}`,
      type: 'ClusterIP',
      sessionAffinity: 'None',
    })
    await made.publish([asReady(pod)])
    fresh.push(`${made.clusterIp} ${await inPod('+short', `new-${count}.default.svc.cluster.local`)}`)
  }

  const stopAsking = askOnAndOn(name)
  await configure(corefile('cluster.local other.local'))
  const other = 'web.default.svc.other.local'
  await untilAsync('the second zone is served', async () => (await inPod(other)).startsWith('NOERROR'), patientMs)
  await configure('.:53 {\n  errors\n  nonsense\n}\n')
  await untilAsync('the bad Corefile is reported', async () => (await dnsHealth())?.level === 'degraded', patientMs)
  const bad = { health: (await dnsHealth())?.message, stillServed: await inPod(other) }
  await configure(corefile('cluster.local'))
  await untilAsync('the second zone is gone', async () => !(await inPod(other)).startsWith('NOERROR'), patientMs)
  const underReloads = await stopAsking()
  await untilAsync('DNS is well again', async () => (await dnsHealth())?.level === 'ok', patientMs)

  const get = async (host: string, where: number, path: string) => {
    const { status, body } = await httpGet({ host, port: where, path })
    return {
      status,
      body:
        path === '/metrics'
          ? body
              .split('\n')
              .filter((line) => line.includes('NOERROR'))
              .join('\n')
          : body,
    }
  }
  const endpoints = {
    health: await get(clusterDns, 8080, '/health'),
    ready: await get(clusterDns, 8181, '/ready'),
    metrics: await get(nodeAddress, 9153, '/metrics'),
  }

  const scrape = async (headers: Record<string, string>, file?: string) => {
    const access = file === undefined ? undefined : await loadKubeconfig(`${identity.dataDir}/${file}`)
    const { clientCertificate: cert, clientKey: key } = access ?? {}
    const tls = { rejectUnauthorized: false, ...(cert && { cert }), ...(key && { key }) }
    return (await httpGet({ host: nodeAddress, port: 10_250, path: '/metrics', headers, ca: '', ...tls })).status
  }
  const scrapes = {
    anonymous: await scrape({}),
    wrongToken: await scrape({ authorization: 'Bearer wrong' }),
    node: await scrape({}, 'agent.kubeconfig'),
    operator: await scrape({}, 'admin.kubeconfig'),
  }

  const out: string[] = []
  const stream = { write: (text: string) => out.push(text) }
  const args = ['dns', 'query', name, '--control-socket', controlSocket]
  const exitCode = await runCli(['node', 'platnet', ...args], { env: {}, stdout: stream, stderr: stream })
  const reverse = `${web.clusterIp.split('.').reverse().join('.')}.in-addr.arpa`
  const backwards = ['node', 'platnet', ...args.with(args.indexOf(name), reverse), 'PTR']
  await runCli(backwards, { env: {}, stdout: stream, stderr: stream })
  const tables = async () => (await runProgram('nft', ['list', 'tables'], { timeoutMs: 5_000 })).stdout
  const tablesBefore = await tables()
  await agent.stop()
  const stopped = {
    tables: await tables(),
    addresses: (await runProgram('ip', ['-o', 'address'], { timeoutMs: 5_000 })).stdout,
  }
  const kubeDnsAfter = await readKubeDns()
  await api.stop({ signal: AbortSignal.timeout(10_000) })
  await lab.stop()
  return {
    kubeDns: [kubeDns, kubeDnsAfter],
    asked,
    fresh,
    bad,
    underReloads,
    endpoints,
    scrapes,
    cli: { exitCode, out: out.join('') },
    tablesBefore,
    stopped,
  }
}

observe().then(
  (seen) => {
    process.stdout.write(`${JSON.stringify(seen)}\n`)
    process.exit(0)
  },
  (error) => {
    process.stderr.write(`${error.stack}\n${log.slice(-30).join('')}`)
    process.exit(1)
  },
)
