// Run by soak.test.ts in namespaces of its own: Services, endpoints and affinity change some hundred times a second for minutes, beside traffic. Prints
// what was seen of the agent and of the kernel as one line of JSON; the test judges it.
import { createSocket } from 'node:dgram'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { askMetrics, askPlan } from '../../../src/app/commands/ask-agent.ts'
import { runProgram } from '../../../src/host/index.ts'
import { untilAsync } from '../../helpers/until.ts'
import { controlSocket, NftablesNode, nodeIp, tcp } from '../../kernel/node/proxy/nftables-node.ts'

const mode = process.argv[2] ?? 'nftables'
const durationMs = 60_000 * Number(process.argv[3] ?? '3')
const changesPerSecond = 200
const [lasting, brief] = [80, 20]
const samples = 24
const ports = [tcp(80, 8080), { name: 'udp', protocol: 'UDP', port: 53, targetPort: 5353 }] as const
const clusterIp = (n: number) => `10.96.1.${n}`

/** What each Service should have in the end, by its number. */
const wanted = new Map<number, readonly string[]>()
let [changes, seed] = [0, 1]

/** The same numbers in each run (an LCG of Numerical Recipes). */
function draw(below: number): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((seed / 2 ** 32) * below)
}

const drawEndpoints = () => Array.from({ length: 1 + draw(5) }, (_, index) => `10.244.${index}.${draw(250) + 1}`)

async function create(node: NftablesNode, n: number): Promise<void> {
  const endpoints = drawEndpoints()
  wanted.set(n, endpoints)
  const affinity = n % 8 === 0 ? { sessionAffinity: 'ClientIP' } : {}
  await node.createService(`s-${n}`, clusterIp(n), ports, affinity)
  await node.createSlice(`s-${n}`, ports, endpoints)
}

/** Each job has its own Services, so that none of them waits for another's answer. */
async function changeOne(node: NftablesNode, job: number, jobs: number): Promise<void> {
  const n = 1 + job + jobs * draw(lasting / jobs)
  const kind = draw(20)
  changes += 1
  if (kind === 0) return node.setAffinity(`s-${n}`, draw(2) === 0 ? 'ClientIP' : 'None')
  if (kind === 1) return replaceBrief(node, lasting + 1 + job + jobs * draw(brief / jobs))
  const endpoints = drawEndpoints()
  wanted.set(n, endpoints)
  return node.setEndpoints(`s-${n}`, ports, endpoints)
}

async function replaceBrief(node: NftablesNode, n: number): Promise<void> {
  if (!wanted.has(n)) return create(node, n)
  wanted.delete(n)
  return node.deleteService(`s-${n}`)
}

async function churn(node: NftablesNode, until: number): Promise<void> {
  const jobs = 10
  const intervalMs = (1000 * jobs) / changesPerSecond
  const work = async (job: number) => {
    for (let nextMs = performance.now(); nextMs < until; nextMs = Math.max(nextMs + intervalMs, performance.now())) {
      await sleep(Math.max(0, nextMs - performance.now()))
      await changeOne(node, job, jobs)
    }
  }
  await Promise.all(Array.from({ length: jobs }, (_, job) => work(job)))
}

/** One flow of UDP to each Service that lasts, each with a datagram a second, which an endpoint answers. */
async function startTraffic(): Promise<() => void> {
  const server = createSocket('udp4')
  server.on('message', (text, peer) => server.send(text, peer.port, peer.address))
  server.bind(5353, '0.0.0.0')
  const clients = Array.from({ length: lasting }, () => createSocket('udp4').on('error', () => {}))
  for (const client of clients) client.bind(0, nodeIp)
  const timer = setInterval(() => {
    for (const [index, client] of clients.entries()) client.send('x', 53, clusterIp(index + 1))
  }, 1000)
  return () => {
    clearInterval(timer)
    for (const socket of [server, ...clients]) socket.close()
  }
}

/** What the agent holds; sizes in bytes. */
async function sample(pid: number) {
  const { text } = await askMetrics(controlSocket)
  const read = (pattern: RegExp) => Number(pattern.exec(text)?.[1])
  return {
    resident: 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
    heap: read(/^nodejs_heap_size_used_bytes\S* (\S+)$/m),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    timers: read(/^nodejs_active_resources\{[^}]*type="Timeout"[^}]*\} (\S+)$/m),
    // The collector's begin when it first collects everything.
    seriesOfMetrics: text.split('\n').filter((line) => !/^#|^nodejs_gc/.test(line)).length,
  }
}

/** `address:port` of every endpoint in the kernel, sorted. */
async function endpointsInKernel(): Promise<readonly string[]> {
  const [file, args, pattern] =
    mode === 'nftables'
      ? (['nft', ['list', 'map', 'ip', 'platnet', 'endpoints'], /: ([\d.]+) \. (\d+)/g] as const)
      : (['iptables-save', ['-t', 'nat'], /--to-destination ([\d.]+):(\d+)/g] as const)
  const { stdout } = await runProgram(file, args, { timeoutMs: 30_000 })
  return [...new Set([...stdout.matchAll(pattern)].map(([, address, port]) => `${address}:${port}`))].sort()
}

function endpointsWanted(): readonly string[] {
  const all = [...wanted.values()].flat()
  return [...new Set(all.flatMap((address) => [`${address}:8080`, `${address}:5353`]))].sort()
}

/** Flows of UDP in the node's table that lead to an address that is no endpoint of their Service any more. */
async function staleFlows(): Promise<{ readonly flows: number; readonly stale: readonly string[] }> {
  const { stdout } = await runProgram('conntrack', ['-L', '-p', 'udp'], { timeoutMs: 30_000 })
  const found = [...stdout.matchAll(/ dst=10\.96\.1\.(\d+) sport=\d+ dport=53 .*?src=(\S+) /g)]
  const stale = found.filter(([, n, endpoint = '']) => wanted.get(Number(n))?.includes(endpoint) !== true)
  return { flows: found.length, stale: stale.map(([line]) => line) }
}

async function differences(): Promise<number> {
  const { families } = await askPlan(controlSocket)
  return families.reduce((sum, family) => sum + (family.unknown === undefined ? family.differences.length : 1), 0)
}

for (const address of [nodeIp])
  await runProgram('ip', ['address', 'add', `${address}/32`, 'dev', 'lo'], { timeoutMs: 10_000 })
await runProgram('ip', ['route', 'add', 'local', '10.244.0.0/16', 'dev', 'lo'], { timeoutMs: 10_000 })
await runProgram('ip', ['route', 'add', '10.96.0.0/16', 'dev', 'lo', 'src', nodeIp], { timeoutMs: 10_000 })
const node = await NftablesNode.start()
for (let n = 1; n <= lasting; n++) await create(node, n)
await node.startAgent(mode)
const stopTraffic = await startTraffic()
const seen: Awaited<ReturnType<typeof sample>>[] = []
const startedMs = performance.now()
const churning = churn(node, startedMs + durationMs)
for (let taken = 0; taken < samples; taken++) {
  await sleep(Math.max(0, startedMs + ((taken + 1) * durationMs) / (samples + 1) - performance.now()))
  seen.push(await sample(node.agentPid))
  process.stderr.write(`soak ${mode}: ${JSON.stringify({ changes, ...seen.at(-1) })}\n`)
}
await churning
await node.untilApplied()
await untilAsync('stale flows are forgotten', async () => (await staleFlows()).stale.length === 0, 20_000).catch(
  () => {},
)
const result = {
  changes,
  seen,
  flows: await staleFlows(),
  differences: await differences(),
  kernel: await endpointsInKernel(),
  wanted: endpointsWanted(),
}
stopTraffic()
for (const n of [...wanted.keys()]) await node.deleteService(`s-${n}`)
await untilAsync('no endpoint is in the kernel', async () => (await endpointsInKernel()).length === 0, 60_000).catch(
  () => {},
)
const left = await endpointsInKernel()
process.stdout.write(`${JSON.stringify({ ...result, left })}\n`, () => process.exit(0))
