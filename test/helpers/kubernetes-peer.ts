import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { createKubernetesTarget, isPeerBuilt } from '../../bench/api/kubernetes-target.ts'
import { type Reply, startTestServer, type TestServer } from './api-server.ts'
import type { AdminAccess } from './platnet-server.ts'

/** Why kube-apiserver cannot be asked on this machine; undefined when it can. */
export function lackOfPeer(): string | undefined {
  return isPeerBuilt() ? undefined : 'kube-apiserver is not built: sh bench/api/build-peer.sh'
}

export interface Peer extends AsyncDisposable {
  readonly access: AdminAccess
  call(
    method: string,
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<Pick<Reply, 'code' | 'headers' | 'body'>>
  /** A GET with an Accept header, and all of its answer. */
  read(path: string, accept: string): Promise<Pick<Reply, 'code' | 'headers' | 'bytes'>>
  /** A body as it stands, and all of the answer, in JSON. */
  send(method: string, path: string, body: string, type: string): Promise<Pick<Reply, 'code' | 'headers' | 'bytes'>>
}

/** Starts kube-apiserver 1.34 with etcd, and speaks to it as its administrator. */
export async function startPeer(serviceRange?: string): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), 'plt-peer-'))
  const target = await createKubernetesTarget(folder, serviceRange === undefined ? {} : { serviceRange })
  const access = await target.start()
  const agent = new Agent({ keepAlive: true })
  const send = (asked: RequestOptions, text?: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      request({ ...access, agent, ...asked }, resolve)
        .on('error', reject)
        .end(text)
    })
  return {
    access,
    call: async (method, path, body, contentType = 'application/json') => {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const headers =
        text === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }
      const response = await send({ method, path, headers }, text)
      const bytes = await buffer(response)
      const isJson = response.headers['content-type']?.startsWith('application/json') === true
      return {
        code: response.statusCode ?? 0,
        headers: response.headers,
        body: isJson ? JSON.parse(bytes.toString()) : undefined,
      }
    },
    read: async (path, accept) => readAll(await send({ method: 'GET', path, headers: { accept } })),
    send: async (method, path, body, type) => {
      const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), accept: 'application/json' }
      return readAll(await send({ method, path, headers }, body))
    },
    [Symbol.asyncDispose]: async () => {
      agent.destroy()
      await target.stop()
      target.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface BesidePeer extends AsyncDisposable {
  readonly peer: Peer
  readonly server: TestServer
}

/** Starts kube-apiserver and our own API server, each with the namespace `default`. */
export async function startBesidePeer(): Promise<BesidePeer> {
  const peer = await startPeer()
  const server = await startTestServer()
  await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } })
  return {
    peer,
    server,
    [Symbol.asyncDispose]: async () => {
      await server.stop()
      await peer[Symbol.asyncDispose]()
    },
  }
}

async function readAll(response: IncomingMessage): Promise<Pick<Reply, 'code' | 'headers' | 'bytes'>> {
  return { code: response.statusCode ?? 0, headers: response.headers, bytes: await buffer(response) }
}
