// Run by notrack-rules.test.ts in namespaces of its own: a node whose DNS dies, with a second DNS behind the Service of the same address.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { addAddress, createVethPair, runProgram } from '../../../../src/host/index.ts'
import { ClusterDnsAddresses } from '../../../../src/node/dns/bind/cluster-dns-addresses.ts'
import { NotrackRules } from '../../../../src/node/dns/bind/notrack-rules.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { until, untilAsync } from '../../../helpers/until.ts'

const address = ipOf('10.96.0.10')
const nodeAddress = ipOf('192.0.2.1')
const timeoutMs = 10_000
const addresses = new ClusterDnsAddresses([address], silentLogger)
const notrackRules = new NotrackRules({ addresses: [address], port: 53, log: silentLogger })

/** Answers every datagram with itself and its own name. */
async function answerAs(name: string, host: string, port: number): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.on('message', (message, from) => socket.send(`${message} ${name}`, from.port, from.address))
  socket.bind(port, host)
  await once(socket, 'listening')
  return socket
}

/** The child: serves the address itself, and keeps off the Service's rules. */
async function serveHere(): Promise<void> {
  await addresses.assign()
  const socket = await answerAs('here', address, 53)
  await notrackRules.install()
  process.send?.({ holds: notrackRules.areInstalled })
  process.on('message', async () => {
    await notrackRules.remove()
    await addresses.release(nodeAddress)
    process.send?.({ isReleased: true })
    await once(process, 'message')
    socket.close()
    await addresses.remove()
    process.exit(0)
  })
}

/** Returns which server answers one query from a new socket; undefined where none does in time. */
async function ask(waitMs = 300): Promise<string | undefined> {
  const socket = createSocket('udp4')
  const answered = once(socket, 'message').then(([message]) => String(message).split(' ')[1])
  socket.on('error', () => {})
  socket.send('who', 53, address)
  const answer = await Promise.race([answered, sleep(waitMs, undefined)])
  answered.catch(() => {})
  socket.close()
  return answer
}

async function connect(): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.connect(53, address)
  await once(socket, 'connect')
  return socket
}

/** Returns which server answers, and closes the socket. */
async function askFrom(socket: Socket): Promise<string | null> {
  socket.send('who')
  const answer = once(socket, 'message').then(([message]) => String(message).split(' ')[1] ?? null)
  return Promise.race([answer, sleep(2_000, null)]).finally(() => socket.close())
}

/** A question every 2 ms from one socket, as a resolver that keeps its port does. */
function startLoad() {
  const socket = createSocket('udp4')
  const answeredBy = new Map<string, string>()
  let asked = 0
  socket.on('error', () => {})
  socket.on('message', (message) => {
    const [id = '', name = ''] = String(message).split(' ')
    answeredBy.set(id, name)
  })
  const timer = setInterval(() => {
    asked += 1
    socket.send(String(asked), 53, address)
  }, 2)
  const answered = (name: string) => [...answeredBy.values()].filter((one) => one === name).length
  return {
    answered,
    finish: async () => {
      clearInterval(timer)
      await sleep(300)
      socket.close()
      return { asked, lost: asked - answeredBy.size }
    },
  }
}

async function startServing() {
  const child = await runProgram(process.execPath, [import.meta.filename, 'serve'], {
    background: true,
    ipc: true,
    stderr: 'inherit',
  })
  const { promise, resolve } = Promise.withResolvers<unknown>()
  child.onMessage(resolve)
  await promise
  return child
}

/** As a node has it: without one, an address that is not local cannot even be asked. */
async function addDefaultRoute(): Promise<void> {
  await createVethPair({ name: 'plt-out' }, { name: 'plt-net' })
  await addAddress({ name: 'plt-out' }, { ip: nodeAddress, prefixLength: 24 })
  await runProgram('ip', ['route', 'add', 'default', 'via', '192.0.2.2'], { timeoutMs })
}

async function observe() {
  await addDefaultRoute()
  const fallback = await answerAs('service', '127.0.0.1', 5353)
  const rule = ['-d', address, '-p', 'udp', '--dport', '53', '-j', 'DNAT', '--to-destination', '127.0.0.1:5353']
  await runProgram('iptables', ['-t', 'nat', '-A', 'OUTPUT', ...rule], { timeoutMs })
  const killed = await startServing()
  const withIt = await ask()
  const load = startLoad()
  await until('this node has answered 100 questions', () => load.answered('here') >= 100, 30_000)
  killed.kill('SIGKILL')
  await until('the Service has answered 100 questions', () => load.answered('service') >= 100, 30_000)
  const outage = await load.finish()
  await killed.exited
  await untilAsync('the Service answers', async () => (await ask(100)) === 'service', 30_000)
  const leftAfterKill = (await runProgram('nft', ['list', 'tables', 'inet'], { timeoutMs })).stdout
  const held = await startServing()
  const again = await ask()
  const early = await connect()
  const released = new Promise((resolve) => held.onMessage(resolve))
  await held.send({ release: true })
  await released
  const late = await connect()
  const sources = [early.address().address, late.address().address]
  const answers = await Promise.all([early, late].map(askFrom))
  await held.send({ stop: true })
  await held.exited
  const { stdout: localRoutes } = await runProgram('ip', ['route', 'show', 'table', 'local'], { timeoutMs })
  const after = await ask()
  const bound = Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === address))
  fallback.close()
  const isRouted = localRoutes.includes(address)
  return {
    withIt,
    outage,
    again,
    sources,
    answers,
    after: after ?? null,
    leftAfterKill,
    boundAfterStop: bound,
    isRouted,
  }
}

if (process.argv[2] === 'serve') await serveHere()
else {
  process.stdout.write(`${JSON.stringify(await observe())}\n`)
  process.exit(0)
}
