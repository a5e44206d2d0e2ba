import { request } from 'node:https'
import { PlatnetError } from '../../model/errors.ts'
import type { AgentAddress } from './usage-keeper.ts'

/** The certificate and key by which the server identifies itself to agents. */
export interface ClientCertificate {
  readonly certPem: string
  readonly keyPem: string
}

class UsageError extends PlatnetError<'bad-answer'> {}

const maxBytes = 8 * 1024 * 1024

/**
 * Returns a function that reads `/metrics/resource` of an agent (HTTPS, at most 8 MiB). The certificate of the agent is
 * not checked, as kube-apiserver does not check a kubelet's: an agent on another machine has one of its own.
 * Rejects with UsageError for another answer than 200, and with the error of the connection.
 */
export function usageFetcher({ certPem, keyPem }: ClientCertificate) {
  return ({ host, port }: AgentAddress, signal: AbortSignal): Promise<string> =>
    new Promise((resolve, reject) => {
      const tls = { cert: certPem, key: keyPem, rejectUnauthorized: false }
      const asked = request({ host, port, path: '/metrics/resource', agent: false, signal, ...tls }, (response) => {
        const chunks: Buffer[] = []
        let bytes = 0
        response.on('error', reject)
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          chunks.push(chunk)
          if (bytes > maxBytes)
            asked.destroy(new UsageError('bad-answer', `the answer has more than ${maxBytes} bytes`))
        })
        response.on('end', () => {
          if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString())
          else reject(new UsageError('bad-answer', `expected the status 200, found ${response.statusCode}`))
        })
      })
      asked.on('error', reject).end()
    })
}
