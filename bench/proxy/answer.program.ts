// Answers on port 8080 of every local address with that address, and closes first.
import { createServer } from 'node:net'

createServer((socket) => {
  socket.on('error', () => socket.destroy())
  socket.end(socket.localAddress ?? '')
}).listen({ host: '0.0.0.0', port: 8080, backlog: 4096 }, () => console.log('listening'))
