// Run by nftables-node.test.ts in namespaces of its own: an agent in the mode nftables beside load, kills and other programs that change the
// tables. Prints what was seen as one line of JSON; the test judges it.
import net from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { type NftCommit, NftMonitor, runProgram } from '../../../../src/host/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { until } from '../../../helpers/until.ts'
import { NftablesNode, nodeIp, tcp, timeoutSeconds } from './nftables-node.ts'

const rounds = Number(process.argv[2] ?? '3')
const clients = Number(process.argv[3] ?? '1000')
const webEndpoints = ['10.244.0.1', '10.244.0.2', '10.244.0.3']
const others = 150
const http = [tcp(80, 8080)]
const webPorts = [...http, { name: 'udp', protocol: 'UDP', port: 53, targetPort: 5353 }] as const
const otherIp = (n: number) => `10.96.1.${n}`
const otherEndpoints = (n: number, generation: number) =>
  Array.from({ length: 1 + ((n + generation) % 4) }, (_, index) => `10.244.${10 + index}.${(n + generation) % 250}`)

/** How far it is. */
const progress = (line: string) => process.stderr.write(`nftables-node: ${line}\n`)
const ip = (...args: string[]) => runProgram('ip', args, { timeoutMs: 10_000 })
const nft = (...words: string[]) => runProgram('nft', words, { timeoutMs: 20_000 })

async function prepare(): Promise<NftablesNode> {
  for (const address of [nodeIp, ...webEndpoints]) await ip('address', 'add', `${address}/32`, 'dev', 'lo')
  for (const network of ['10.244.0.0/16', '100.64.0.0/16']) await ip('route', 'add', 'local', network, 'dev', 'lo')
  await ip('route', 'add', '10.96.0.0/16', 'dev', 'lo', 'src', nodeIp)
  const node = await NftablesNode.start()
  await node.createService('web', '10.96.0.10', webPorts)
  await node.createSlice('web', webPorts, webEndpoints)
  for (let n = 1; n <= others; n++) {
    await node.createService(`other-${n}`, otherIp(n), http)
    await node.createSlice(`other-${n}`, http, otherEndpoints(n, 0))
  }
  await node.startAgent()
  return node
}

async function startLoad() {
  const program = path.join(import.meta.dirname, 'churn.program.ts')
  const args = ['--disable-warning=ExperimentalWarning', program, webEndpoints.join(), '10.96.0.10']
  const running = await runProgram(process.execPath, args, { background: true, stdin: 'pipe', stdout: 'pipe' })
  if (running.stdout === null) throw new Error('the load prints nothing')
  const output = text(running.stdout)
  return async () => {
    running.stdin?.write('end\n')
    return JSON.parse(await output)
  }
}

/** A restart without a change, and restarts after a kill in the middle of many changes; connections to another Service go on. */
async function killUnderLoad(node: NftablesNode) {
  const end = await startLoad()
  await sleep(300)
  const before = await node.snapshot()
  const commits: NftCommit['changes'][] = []
  const gaps: string[] = []
  const monitor = new NftMonitor(silentLogger)
  monitor.subscribe({ onCommit: ({ changes }) => void commits.push(changes), onGap: () => gaps.push('gap') })
  await monitor.start()
  await until('the monitor listens', () => gaps.length > 0, 20_000)
  await node.killAgent()
  await node.startAgent()
  await sleep(1_500)
  const restart = { commits, isSame: (await node.snapshot()) === before }
  await monitor.stop({ signal: AbortSignal.timeout(5_000) })
  const wrong: string[] = []
  for (let round = 1; round <= rounds; round++) {
    const numbers = Array.from({ length: others }, (_, index) => index + 1)
    const changes = Promise.all(numbers.map((n) => node.setEndpoints(`other-${n}`, http, otherEndpoints(n, round))))
    await sleep(20 + ((round * 37) % 120))
    await node.killAgent()
    await changes
    await node.startAgent()
    for (const n of [1, 75, others]) {
      const found = await node.endpointsOf(`${otherIp(n)} . tcp . 80`)
      const wanted = otherEndpoints(n, round).map((address) => `${address} . 8080`)
      if (found.join() !== wanted.sort().join()) wrong.push(`round ${round}: ${n}: ${found.join()}`)
    }
  }
  return { restart, wrong, load: await end() }
}

const disturbances: Readonly<Record<string, readonly string[][]>> = {
  'all tables are gone': [['flush', 'ruleset']],
  'the table is gone': [['delete', 'table', 'ip', 'platnet']],
  'a map is empty': [['flush', 'map', 'ip', 'platnet', 'endpoints']],
  'a set is empty': [['flush', 'set', 'ip', 'platnet', 'hairpin']],
  'an element is gone': [['delete', 'element', 'ip', 'platnet', 'addresses', '{ 10.96.0.10 . tcp . 80 }']],
  'an element is foreign': [['add', 'element', 'ip', 'platnet', 'addresses', '{ 10.96.9.9 . tcp . 80 : 1:1 }']],
  'an element has other data': [
    ['delete', 'element', 'ip', 'platnet', 'addresses', '{ 10.96.0.10 . tcp . 80 }'],
    ['add', 'element', 'ip', 'platnet', 'addresses', '{ 10.96.0.10 . tcp . 80 : 0:1 }'],
  ],
  'a range is foreign': [
    ['add', 'element', 'ip', 'platnet', 'admitted', '{ 10.96.0.10 . tcp . 80 . 10.0.0.1-10.0.0.6 }'],
  ],
  'a chain has no rules': [['flush', 'chain', 'ip', 'platnet', 'service']],
  'a chain has one more rule': [['insert', 'rule', 'ip', 'platnet', 'filter-output', 'counter', 'drop']],
  'the table has one more chain': [['add', 'chain', 'ip', 'platnet', 'extra']],
  'the table has one more set': [['add', 'set', 'ip', 'platnet', 'extra', '{ type mark; }']],
  'the state is gone': [['flush', 'set', 'ip', 'platnet', 'state']],
}

/** Milliseconds until the table is as before, by what was done to it; -1 where it never was. */
async function disturb(node: NftablesNode) {
  const before = await node.snapshot()
  const repaired: Record<string, number> = {}
  for (const [title, commands] of Object.entries(disturbances)) {
    for (const words of commands) await nft(...words)
    const startedMs = performance.now()
    let tookMs = -1
    while (tookMs < 0 && performance.now() - startedMs < 10_000) {
      if ((await node.snapshot()) === before) tookMs = performance.now() - startedMs
      else await sleep(50)
    }
    repaired[title] = Math.round(tookMs)
    progress(`${title}: repaired after ${repaired[title]} ms`)
  }
  for (const table of ['filter', 'nat', 'mangle'])
    await runProgram('iptables', ['-t', table, '-F'], { timeoutMs: 10_000 })
  await sleep(500)
  const isUntouched = (await node.snapshot()) === before
  return { repaired, isUntouched, state: await readState() }
}

async function readState(): Promise<string> {
  const { stdout } = await nft('list', 'set', 'ip', 'platnet', 'state')
  return /comment "(\w+)/.exec(stdout)?.[1] ?? ''
}

/** The address that took a connection. */
function connect(host: string, localAddress: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = net.connect({ host, port: 80, localAddress, timeout: 5_000 })
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    socket.on('timeout', () => socket.destroy())
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    socket.on('close', () => resolve(answer))
  })
}

async function connectAll(host: string, sources: readonly string[]): Promise<string[]> {
  const answers: string[] = []
  for (let first = 0; first < sources.length; first += 50)
    answers.push(...(await Promise.all(sources.slice(first, first + 50).map((source) => connect(host, source)))))
  return answers
}

/** Many clients of one Service come back, also to an agent that was killed meanwhile; 1,000 endpoints of another all get connections. */
async function manyClientsAndEndpoints(node: NftablesNode) {
  const server = net
    .createServer((socket) => socket.on('error', () => {}).end(socket.localAddress ?? ''))
    .listen(8080, '0.0.0.0')
  const affinity = { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds } } }
  await node.createService('sticky', '10.96.0.20', http, affinity)
  await node.createSlice('sticky', http, webEndpoints)
  const wide = Array.from({ length: 1_000 }, (_, index) => `10.244.${100 + (index >> 8)}.${index & 255}`)
  await node.createService('wide', '10.96.0.30', http)
  await node.createSlice('wide', http, wide)
  await node.untilApplied()
  const sources = Array.from({ length: clients }, (_, index) => `100.64.${index >> 8}.${index & 255}`)
  const first = await connectAll('10.96.0.20', sources)
  await node.killAgent()
  await node.startAgent()
  const second = await connectAll('10.96.0.20', sources)
  const spread = await connectAll(
    '10.96.0.30',
    Array.from({ length: 3_000 }, () => nodeIp),
  )
  server.close()
  return {
    moved: first.filter((answer, index) => answer !== second[index]).length,
    shares: webEndpoints.map((endpoint) => first.filter((answer) => answer === endpoint).length),
    reached: new Set(spread).intersection(new Set(wide)).size,
    elsewhere: spread.filter((answer) => !wide.includes(answer)).length,
  }
}

/** A raw INIT, for a kernel without sockets of SCTP: the entry of conntrack tells where it went. */
async function sendSctp(node: NftablesNode): Promise<string> {
  const ports = [{ name: 'sctp', protocol: 'SCTP', port: 9, targetPort: 9000 }] as const
  await node.createService('sctp', '10.96.0.40', ports)
  await node.createSlice('sctp', ports, ['10.244.0.3'])
  await node.untilApplied()
  const script = `use Socket; socket(my $s, PF_INET, SOCK_RAW, 132) or die "socket: $!";
    my $init = pack('C C n N N n n N', 1, 0, 20, 1, 65536, 1, 1, 1);
    send($s, pack('n n N N', 4000, 9, 0, 0) . $init, 0, sockaddr_in(0, inet_aton('10.96.0.40'))) or die "send: $!";`
  await runProgram('perl', ['-e', script], { timeoutMs: 10_000 })
  const { stdout } = await runProgram('conntrack', ['-L', '-p', 'sctp'], { timeoutMs: 10_000 })
  return (
    / dst=10\.96\.0\.40 sport=4000 dport=9 .*?src=(\S+) dst=\S+ sport=(\d+)/.exec(stdout)?.slice(1).join(':') ?? stdout
  )
}

const node = await prepare()
progress('the agent is ready')
const kills = await killUnderLoad(node)
progress(JSON.stringify(kills))
const disturbed = await disturb(node)
progress(JSON.stringify(disturbed))
const many = await manyClientsAndEndpoints(node)
const sctp = await sendSctp(node)
process.stdout.write(`${JSON.stringify({ kills, disturbed, many, sctp })}\n`, () => process.exit(0))
