import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import https, { type RequestOptions } from 'node:https'

export interface Got {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** One request on a connection of its own unless an agent is given; TLS when `ca` is. */
export async function httpGet({ body: sent, ...options }: RequestOptions & { readonly body?: string }): Promise<Got> {
  const { request } = options.ca === undefined ? http : https
  const outgoing = request({ agent: false, ...options }).end(sent)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  response.setEncoding('utf8')
  let body = ''
  for await (const chunk of response) body += chunk
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}
