// Run by conntrack.test.ts in a namespace: two servers that say their address, and a client with a fixed port for each
// target that asks again and again. Prints `TARGET SERVER` whenever a client is answered by another server than before.
import { createSocket } from 'node:dgram'

const [servers = '', targets = ''] = process.argv.slice(2)

for (const address of servers.split(',')) {
  const server = createSocket('udp4')
  server.on('message', (_, peer) => server.send(address, peer.port, peer.address))
  server.bind(5353, address)
}

for (const [index, target] of targets.split(',').entries()) {
  const [address = '', port = ''] = target.split(':')
  const client = createSocket('udp4')
  let last = ''
  client.on('error', () => {})
  client.on('message', (answer) => {
    if (String(answer) !== last) process.stdout.write(`${target} ${answer}\n`)
    last = String(answer)
  })
  client.bind(40_000 + index, '192.0.2.1')
  setInterval(() => client.send('?', Number(port), address), 10)
}
