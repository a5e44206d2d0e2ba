// An application's server as it should behave in a pod: `node web-server.program.ts --name web-1 --port 8080`.
// Answers with its name and the address it was asked from. SIGTERM drains it; SIGKILL is how a pod ends that does not.
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

/** A client sends a lost SYN again after 1 s (RFC 6298): what was on its way when the pod left the rules still gets in. */
const drainMs = 1200
/** Longer than any client here leaves a connection idle, so that a connection ends only by an announced close. */
const idleTimeoutMs = 120_000

const { values } = parseArgs({ options: { name: { type: 'string' }, port: { type: 'string' } }, strict: true })
const name = values.name ?? 'web'

let draining = false
const server = createServer({ keepAliveTimeout: idleTimeoutMs }, (request, response) => {
  if (draining) response.setHeader('Connection', 'close')
  response.setHeader('Content-Type', 'text/plain')
  response.end(`${name} ${request.socket.remoteAddress}\n`)
})

/** New connections are served to the end of the drain; those in flight after it are finished, then the process ends. */
async function drain(): Promise<void> {
  if (draining) return
  draining = true
  await sleep(drainMs)
  server.close()
}

process.on('SIGTERM', () => void drain())
server.listen(Number(values.port ?? '8080'), '0.0.0.0', 1024, () => process.stdout.write('listening\n'))
