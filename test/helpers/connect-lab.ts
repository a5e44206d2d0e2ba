import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { startTestServer, type TestServer, testToken } from './api-server.ts'
import { type FakeAnswers, type FakeBackend, startFakeBackend } from './fake-kubelet.ts'
import { paths } from './manifests.ts'

/** A server, a fake kubelet of the node `n1` whose answers a test sets, and pods of it. */
export interface ConnectLab extends AsyncDisposable {
  readonly server: TestServer
  readonly kubelet: FakeBackend
  /** What the kubelet answers from now on. */
  answer(answers: FakeAnswers): void
  addPod(name: string, spec?: object, status?: object): Promise<void>
}

export type Opened =
  | { readonly code: 101; readonly headers: IncomingMessage['headers']; readonly socket: Duplex; readonly head: Buffer }
  | { readonly code: number; readonly headers: IncomingMessage['headers']; readonly text: string }

export async function startConnectLab(): Promise<ConnectLab> {
  let answers: FakeAnswers = {}
  // The lab's pods have addresses of loopback, which a server refuses otherwise.
  let client = {}
  const server = await startTestServer({
    mayReach: (address) => address === '127.0.0.1',
    kubelets: { tls: async () => client },
  })
  client = await server.authority.issue('kube-apiserver-kubelet-client')
  const kubelet = await startFakeBackend(
    {
      onRequest: (request, response) => answers.onRequest?.(request, response) ?? undefined,
      onUpgrade: (request, socket, head) => answers.onUpgrade?.(request, socket, head),
    },
    server.authority,
  )
  const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }]
  const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } } }
  assert.equal((await server.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' }, status } })).code, 201)
  return {
    server,
    kubelet,
    answer: (next) => {
      answers = next
    },
    addPod: async (name, spec = {}, podStatus = {}) => {
      const body = { metadata: { name }, spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], ...spec } }
      assert.equal((await server.call('POST', paths.pods, { body })).code, 201)
      const headers = { 'content-type': 'application/merge-patch+json' }
      const patch = { body: { status: podStatus }, headers }
      assert.equal((await server.call('PATCH', `${paths.pods}/${name}/status`, patch)).code, 200)
    },
    [Symbol.asyncDispose]: async () => {
      await kubelet[Symbol.asyncDispose]()
      await server.stop()
    },
  }
}

/** Asks for another protocol; resolves with the connection, or with the answer that refuses it. */
export function openUpgrade(
  { port }: TestServer,
  path: string,
  {
    method = 'POST',
    headers = {},
  }: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest({
      ...{ host: '127.0.0.1', port, method, path, agent: false, rejectUnauthorized: false },
      headers: { authorization: `Bearer ${testToken}`, connection: 'Upgrade', upgrade: 'SPDY/3.1', ...headers },
    })
    request.on('upgrade', ({ headers: answered }, socket, head) =>
      resolve({ code: 101, headers: answered, socket, head }),
    )
    request.on('response', (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ code: response.statusCode ?? 0, headers: response.headers, text }))
    })
    request.on('error', reject).end()
  })
}
