// Run by churn.ts in a namespace: TCP and UDP servers on each endpoint, clients that ask the Service without a pause. Controlled by lines
// on standard input which endpoint is `gone` since when (it must get nothing new any more) and which is `back`; `end` prints what was seen.
import { createSocket } from 'node:dgram'
import net from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const [addresses = '', vip = ''] = process.argv.slice(2)
/** What was on its way when the kernel forgot the flow. Judged by when it was sent, so that it does not matter when it is read. */
const graceMs = 50
const goneSince = new Map<string, number>()
const seen = { answered: 0, failures: {} as Record<string, number>, sentByUdp: 0, answeredByUdp: 0, lateDatagrams: 0 }

for (const address of addresses.split(',')) {
  // The server closes first, so that clients do not run out of ports.
  net.createServer((socket) => socket.on('error', () => {}).end(address)).listen(8080, address)
  const datagrams = createSocket('udp4')
  datagrams.on('message', (sentAtMs, peer) => {
    if (Number(sentAtMs) - (goneSince.get(address) ?? Number.POSITIVE_INFINITY) > graceMs) seen.lateDatagrams += 1
    datagrams.send(address, peer.port, peer.address)
  })
  datagrams.bind(5353, address)
}

async function askForever(): Promise<void> {
  for (;;) {
    const failure = await ask()
    if (failure === undefined) seen.answered += 1
    else seen.failures[failure] = (seen.failures[failure] ?? 0) + 1
    await sleep(2)
  }
}

/** Resolves to what went wrong. */
function ask(): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = ''
    const socket = net.connect({ host: vip, port: 80, timeout: 20_000 })
    socket.on('data', (chunk) => {
      text += String(chunk)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    socket.on('timeout', () => {
      resolve('timeout')
      socket.destroy()
    })
    socket.on('close', () => resolve(text === '' ? 'closed without an answer' : undefined))
  })
}

for (let client = 0; client < 4; client += 1) void askForever()
const datagrams = createSocket('udp4')
datagrams.on('error', () => {})
datagrams.on('message', (_, { address }) => {
  if (address === vip) seen.answeredByUdp += 1
})
datagrams.bind(40_000, '192.0.2.1')
setInterval(() => {
  seen.sentByUdp += 1
  datagrams.send(String(Date.now()), 53, vip)
}, 5)

createInterface(process.stdin).on('line', (line) => {
  const [word, address = '', sinceMs] = line.split(' ')
  if (word === 'gone') goneSince.set(address, Number(sinceMs))
  else if (word === 'back') goneSince.delete(address)
  else {
    process.stdout.write(`${JSON.stringify(seen)}\n`)
    process.exit(0)
  }
})
