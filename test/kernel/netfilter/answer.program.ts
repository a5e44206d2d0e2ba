import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** Answers on many ports with who it is and what it sees of the caller: `answer.program.ts NAME {"tcp":[80],"udp":[["10.0.0.1",53]]}`. */
const [name = '', listeners = '{}'] = process.argv.slice(2)
const { tcp = [], udp = [] } = JSON.parse(listeners) as { tcp?: number[]; udp?: [string, number][] }

const plain = (address = '') => address.replace(/^::ffff:/, '')
const describe = (address: string | undefined, port: number | undefined, source: string | undefined) =>
  JSON.stringify({ name, address: plain(address), port, source: plain(source) })

const ready: Promise<void>[] = []
for (const port of tcp) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(describe(socket.localAddress, socket.localPort, socket.remoteAddress))
  })
  ready.push(new Promise((resolve) => server.listen({ port, host: '::', backlog: 512 }, resolve)))
}
for (const [address, port] of udp) {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  socket.on('message', (_, from) => socket.send(describe(address, port, from.address), from.port, from.address))
  ready.push(new Promise((resolve) => socket.bind(port, address, () => resolve())))
}
await Promise.all(ready)
process.stdout.write('ready\n')
