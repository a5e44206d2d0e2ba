import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request as httpsRequest, type Server } from 'node:https'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type TestServer, testToken } from './api-server.ts'

/** Where `bench/build-kubernetes.sh` and the conformance runs put programs of Kubernetes. */
const folders = ['peer', 'conformance/bin'].map((name) => resolve(import.meta.dirname, '../../.cache', name))

function findProgram(name: string): string | undefined {
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
}

/** Why tests beside a program of Kubernetes are skipped here; false where it is built. */
export function missingProgram(name: string): string | false {
  return findProgram(name) !== undefined ? false : `${name} is not built: sh bench/build-kubernetes.sh ${name}`
}

/** What these programs insist on reading and our API core does not serve: they find it empty. */
const unserved: Readonly<Record<string, string>> = {
  persistentvolumeclaims: 'v1 PersistentVolumeClaim',
  persistentvolumes: 'v1 PersistentVolume',
  storageclasses: 'storage.k8s.io/v1 StorageClass',
  csidrivers: 'storage.k8s.io/v1 CSIDriver',
  csistoragecapacities: 'storage.k8s.io/v1 CSIStorageCapacity',
  volumeattachments: 'storage.k8s.io/v1 VolumeAttachment',
  resourceclaims: 'resource.k8s.io/v1 ResourceClaim',
  resourceslices: 'resource.k8s.io/v1 ResourceSlice',
  deviceclasses: 'resource.k8s.io/v1 DeviceClass',
}

/** Runs kube-controller-manager or kube-scheduler against a test's server. */
export async function startKubernetesProgram(
  name: string,
  server: TestServer,
  flags: readonly string[],
): Promise<AsyncDisposable & { readonly logFile: string }> {
  const home = mkdtempSync(join(tmpdir(), 'plt-test-'))
  const front = await startFront(server)
  const kubeconfig = join(home, 'kubeconfig')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(front, server)), { mode: 0o600 })
  const logFile = join(home, 'log')
  const log = openSync(logFile, 'a')
  const common = [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0']
  const limits = ['--kube-api-qps=5000', '--kube-api-burst=5000']
  const child = spawn(findProgram(name) ?? name, [...common, ...limits, ...flags], { stdio: ['ignore', log, log] })
  return {
    logFile,
    [Symbol.asyncDispose]: async () => {
      await kill(child)
      front.closeAllConnections()
      front.close()
      rmSync(home, { recursive: true })
    },
  }
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

function kubeconfigOf(front: Server, { authority }: TestServer) {
  const address = front.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const ca = Buffer.from(authority.certPem).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': ca } }],
    users: [{ name: 'u', user: { token: testToken } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  }
}

/** Passes everything on to the server, except what that does not serve. */
async function startFront(server: TestServer): Promise<Server> {
  const { certPem, keyPem } = await server.authority.issue('server')
  const front = createServer({ cert: certPem, key: keyPem }, (incoming, response) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'https://front')
    const kind = unserved[pathname.split('/').at(-1) ?? '']
    if (kind === undefined) passOn(server, incoming, response)
    else answerEmpty(kind, searchParams.get('watch') !== null, response)
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  return front
}

function answerEmpty(kindText: string, isWatch: boolean, response: ServerResponse): void {
  const [apiVersion, kind] = kindText.split(' ')
  response.writeHead(200, { 'content-type': 'application/json' })
  if (!isWatch) {
    response.end(JSON.stringify({ apiVersion, kind: `${kind}List`, metadata: { resourceVersion: '1' }, items: [] }))
    return
  }
  const annotations = { 'k8s.io/initial-events-end': 'true' }
  const object = { apiVersion, kind, metadata: { resourceVersion: '1', annotations } }
  response.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`)
}

function passOn({ port, authority }: TestServer, incoming: IncomingMessage, response: ServerResponse): void {
  const { method, url: path, headers } = incoming
  const outgoing = httpsRequest({ host: '127.0.0.1', port, ca: authority.certPem, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    response.flushHeaders()
    answer.pipe(response)
    answer.on('error', () => response.destroy())
  })
  outgoing.on('error', () => response.destroy())
  response.on('close', () => outgoing.destroy())
  incoming.pipe(outgoing)
}
