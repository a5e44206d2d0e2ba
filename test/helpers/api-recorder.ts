import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TestServer } from './api-server.ts'

interface AskedRequest {
  readonly method: string
  readonly url: string
  readonly code: number
}

/** Stands between clients and an API server; notes what was asked and how it was answered. */
export async function startApiRecorder(server: TestServer) {
  const asked: AskedRequest[] = []
  const { certPem: cert, keyPem: key } = await server.authority.issue('server')
  const recorder = createServer({ cert, key }, (incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    const onward = request(
      { host: '127.0.0.1', port: server.port, method, path: url, headers, ca: server.authority.certPem },
      (answer) => {
        asked.push({ method, url, code: answer.statusCode ?? 0 })
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(outgoing)
      },
    )
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>((listening) => recorder.listen(0, '127.0.0.1', listening))
  const { port } = recorder.address() as AddressInfo
  const stop = () => {
    recorder.closeAllConnections()
    recorder.close()
  }
  return { asked, port, url: `https://127.0.0.1:${port}`, stop }
}
