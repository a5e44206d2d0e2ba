// Load on Services and on names from the network namespace that this runs in, until standard input ends; then one line of JSON with what
// was seen. Arguments: addresses of Services with commas between them, of which the first has the connections that stay open; address of
// DNS; name that is asked for; new connections a second (absent: 50).
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect, isIPv4 } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeQuery } from '../../helpers/dns-messages.ts'
import { httpGet } from '../../helpers/http-get.ts'

/** What happened to the requests of one kind. */
interface Seen {
  asked: number
  /** One line for each request without its answer. */
  readonly failures: string[]
  /** When a request began that took long, its source and target, and its milliseconds; the first hundred. */
  readonly slow: string[]
  slowestMs: number
}

export interface ServiceLoad {
  /** A connection for each request. */
  readonly fresh: Seen
  /** Requests on connections that stay open from the first to the last. */
  readonly held: Seen
  readonly connectionsOfHeld: number
  readonly names: Seen
}

const [addresses = '', dns = '', name = '', perSecond = '50'] = process.argv.slice(2)
const services = addresses.split(',')
const [service = ''] = services
/** A first packet that is lost comes again after 1, 3 and 7 s; a busy machine needs some of it. */
const answerMs = 15_000
const heldCount = 5
const roundMs = 20
/** Where the machine is slower than the load, fewer are sent instead of ever more waiting for an answer. */
const maxRunning = 300
/** A first packet that was lost came again; one below this waited for a processor. */
const slowMs = 900
const newSeen = (): Seen => ({ asked: 0, failures: [], slow: [], slowestMs: 0 })
let isEnding = false

async function ask(seen: Seen, request: () => Promise<string>): Promise<void> {
  const [startedMs, startedAt] = [performance.now(), new Date().toISOString()]
  seen.asked += 1
  let way = ''
  try {
    way = await request()
  } catch (error) {
    seen.failures.push(`${new Date().toISOString()} ${error instanceof Error ? error.message : String(error)}`)
  }
  const tookMs = Math.round(performance.now() - startedMs)
  if (tookMs > slowMs && seen.slow.length < 100) seen.slow.push(`${startedAt} ${way} ${tookMs} ms`)
  seen.slowestMs = Math.max(seen.slowestMs, tookMs)
}

/** A connection of its own, without the cost of an HTTP client. The result is its way. */
async function requestFresh(host: string): Promise<string> {
  const socket = connect({ host, port: 80, signal: AbortSignal.timeout(answerMs) })
  let way = ''
  socket.once('connect', () => {
    way = `port ${socket.localPort} to ${host}`
  })
  try {
    socket.write('GET /hostname HTTP/1.0\r\n\r\n')
    const answer = await text(socket)
    if (!/^HTTP\/1\.[01] 200/.test(answer)) throw new Error(`${host}: ${JSON.stringify(answer.slice(0, 40))}`)
    return way
  } finally {
    socket.destroy()
  }
}

async function requestPage(agent: Agent): Promise<string> {
  const got = await httpGet({
    agent,
    host: service,
    port: 80,
    path: '/hostname',
    signal: AbortSignal.timeout(answerMs),
  })
  if (got.status !== 200) throw new Error(`status ${got.status}`)
  return `held to ${service}`
}

/** Starts requests every few milliseconds, whatever becomes of the earlier ones. */
async function repeat(eachRound: number, request: () => Promise<void>): Promise<void> {
  const running = new Set<Promise<void>>()
  while (!isEnding) {
    for (let count = 0; count < eachRound && running.size < maxRunning; count += 1) {
      const one = request().finally(() => running.delete(one))
      running.add(one)
    }
    await sleep(roundMs)
  }
  await Promise.all(running)
}

/** One connection, which must last: a second one is counted. */
async function hold(seen: Seen, onConnection: () => void): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, timeout: 60_000 })
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (...args) => {
    onConnection()
    return connect(...args)
  }
  while (!isEnding) {
    await ask(seen, () => requestPage(agent))
    await sleep(100)
  }
  agent.destroy()
}

/** A query from a port of its own, as resolvers send them; not repeated. */
async function resolveName(): Promise<string> {
  const socket = createSocket('udp4')
  try {
    socket.connect(53, dns)
    await once(socket, 'connect')
    socket.send(makeQuery(name, 1))
    const [answer] = (await once(socket, 'message', { signal: AbortSignal.timeout(answerMs) })) as [Buffer]
    const [code, answers] = [(answer[3] ?? 15) & 15, answer.readUInt16BE(6)]
    if (code !== 0 || answers === 0) throw new Error(`rcode ${code}, ${answers} answers`)
    return `port ${socket.address().port}`
  } finally {
    socket.close()
  }
}

if (!services.every((each) => isIPv4(each))) throw new Error(`expected addresses of Services, got ${addresses}`)
const freshEachRound = (Number(perSecond) * roundMs) / 1_000
if (!Number.isInteger(freshEachRound)) throw new Error(`expected a multiple of ${1_000 / roundMs}, got ${perSecond}`)
process.stdin.once('end', () => {
  isEnding = true
})
process.stdin.resume()
const [fresh, held, names] = [newSeen(), newSeen(), newSeen()]
let connectionsOfHeld = 0
const onConnection = () => {
  connectionsOfHeld += 1
}
await Promise.all([
  repeat(freshEachRound, () => {
    const host = services[fresh.asked % services.length] ?? service
    return ask(fresh, () => requestFresh(host))
  }),
  repeat(1, () => ask(names, resolveName)),
  ...Array.from({ length: heldCount }, () => hold(held, onConnection)),
])
const load: ServiceLoad = { fresh, held, connectionsOfHeld, names }
process.stdout.write(`${JSON.stringify(load)}\n`)
