import type { IncomingMessage } from 'node:http'
import type { Exchange } from './exchange.ts'
import { acceptWebSocket, sendMessage } from './websocket.ts'

/** The subprotocols of a log, and whether they carry base64. */
const encodings = ['binary.k8s.io', 'base64.binary.k8s.io'] as const

/** Sends a log as messages of a WebSocket, after an empty one, as kube-apiserver does; the last one is followed by its close. */
export async function sendLogByWebSocket(exchange: Exchange, log: IncomingMessage): Promise<void> {
  const { webSocket, protocol } = await acceptWebSocket(exchange, encodings)
  webSocket.on('close', () => log.destroy())
  const isBase64 = protocol === 'base64.binary.k8s.io'
  const encode = (chunk: Buffer) => (isBase64 ? chunk.toString('base64') : chunk)
  await sendMessage(webSocket, encode(Buffer.alloc(0)))
  try {
    for await (const chunk of log) await sendMessage(webSocket, encode(chunk as Buffer))
    webSocket.close(1000)
  } catch {
    // The kubelet broke off, or the client is gone.
    webSocket.terminate()
  }
}
