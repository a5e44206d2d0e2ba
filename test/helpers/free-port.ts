import { once } from 'node:events'
import { createServer } from 'node:net'

/** Above the ports of common servers, below those that Linux gives out by itself (32768 and above). */
const [firstPort, portCount] = [12_000, 18_000]

/**
 * Finds a port of the loopback without a listener. The kernel gives it to no process that does not name it, so that it stays free until the
 * caller takes it, also while other files run.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = firstPort + Math.floor(Math.random() * portCount)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      continue
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
