import { cpSync } from 'node:fs'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { findFreePort } from './free-port.ts'
import { httpGet } from './http-get.ts'
import { type AdminAccess, PlatnetServer } from './platnet-server.ts'
import type { ShownVersion, VersionedOperation } from './versioned-history.ts'

const collection = '/api/v1/namespaces/default/configmaps'
/** A request without an answer goes to the next server after this time. */
const requestTimeoutMs = 3_000

const configMap = z.object({
  metadata: z.object({ name: z.string(), resourceVersion: z.string() }),
  data: z.record(z.string(), z.string()).optional(),
})

/** Several `platnet server` over one etcd cluster, with one certificate authority. */
export class ServerGroup {
  readonly #servers: readonly PlatnetServer[]
  readonly #access: AdminAccess[] = []

  private constructor(servers: readonly PlatnetServer[]) {
    this.#servers = servers
  }

  /** Starts servers; `more` gives further flags of each, the API core alone where there are none. */
  static async start(
    folder: string,
    count: number,
    etcdServers: readonly string[],
    more: () => Promise<readonly string[]> = async () => ['--components=api'],
  ): Promise<ServerGroup> {
    const flags = ['--dialect=kubernetes', '--console=false', '--store=etcd', `--etcd-servers=${etcdServers.join()}`]
    const servers: PlatnetServer[] = []
    while (servers.length < count) {
      const dataDir = join(folder, `s${servers.length}`)
      servers.push(new PlatnetServer(dataDir, await findFreePort(), {}, [...flags, ...(await more())]))
    }
    const group = new ServerGroup(servers)
    for (const [index, server] of servers.entries()) {
      if (index > 0) cpSync(join(folder, 's0/pki'), join(folder, `s${index}/pki`), { recursive: true })
      group.#access.push(await server.start())
    }
    return group
  }

  get count(): number {
    return this.#servers.length
  }

  access(index: number): AdminAccess {
    const access = this.#access[index % this.#access.length]
    if (access === undefined) throw new RangeError(`no server ${index}`)
    return access
  }

  pid(index: number): number {
    return this.#servers[index]?.pid ?? 0
  }

  kill(index: number): Promise<unknown> {
    return this.#servers[index]?.stop('SIGKILL') ?? Promise.resolve()
  }

  async restart(index: number): Promise<void> {
    await this.#servers[index]?.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop('SIGKILL')))
  }
}

/** A write whose outcome its client does not know. */
interface UnknownWrite {
  readonly key: string
  readonly calledMs: number
  readonly value: string
  readonly expected: number
}

/** Everything that clients saw. */
export class History {
  readonly operations: VersionedOperation[] = []
  readonly unknown: UnknownWrite[] = []
  /** The values of writes that a server said had not happened. */
  readonly refused: string[] = []
  /** When writes were acknowledged. */
  readonly acknowledgedMs: number[] = []

  /** The times between two acknowledged writes, the longest first. */
  get pauses(): readonly { readonly fromMs: number; readonly pauseMs: number }[] {
    return this.acknowledgedMs
      .slice(1)
      .map((atMs, index) => {
        const fromMs = this.acknowledgedMs[index] ?? atMs
        return { fromMs, pauseMs: atMs - fromMs }
      })
      .sort((a, b) => b.pauseMs - a.pauseMs)
  }

  /** The operations, with each write of unknown outcome that the watch has shown. */
  settled(shown: readonly ShownVersion[]): readonly VersionedOperation[] {
    const versions = new Map(shown.map(({ value, version }) => [value, version]))
    const happened = this.unknown.flatMap(({ key, calledMs, value, expected }): VersionedOperation[] => {
      const version = versions.get(value)
      if (version === undefined) return []
      return [
        { key, calledMs, answeredMs: Number.POSITIVE_INFINITY, effect: { kind: 'write', version, value, expected } },
      ]
    })
    return [...this.operations, ...happened]
  }
}

export async function createRegisters(group: ServerGroup, keys: readonly string[]): Promise<void> {
  for (const name of keys) {
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value: 'first' } })
    const headers = { 'content-type': 'application/json' }
    const { status } = await httpGet({ ...group.access(0), method: 'POST', path: collection, headers, body })
    if (status !== 201) throw new Error(`${name} was answered ${status}`)
  }
}

/** Reads registers and replaces what it read, until the signal aborts; goes on with the next server when one fails. */
export async function useRegisters(
  group: ServerGroup,
  { worker, keys, history, signal }: { worker: number; keys: readonly string[]; history: History; signal: AbortSignal },
): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  let server = worker
  let count = 0
  while (!signal.aborted) {
    const key = keys[Math.floor(Math.random() * keys.length)] ?? ''
    const read = await readRegister(group.access(server), agent, key, history)
    if (read === undefined) {
      server++
      await sleep(20)
      continue
    }
    if (Math.random() < 0.2) continue
    const value = `${worker}-${++count}`
    if (!(await writeRegister(group.access(server), agent, { ...read, key, value }, history))) server++
  }
  agent.destroy()
}

async function readRegister(access: AdminAccess, agent: Agent, key: string, { operations }: History) {
  const calledMs = performance.now()
  const answer = await call({ ...access, agent, path: `${collection}/${key}` })
  if (answer?.status !== 200) return undefined
  const { metadata, data } = configMap.parse(JSON.parse(answer.body))
  const [version, value] = [Number(metadata.resourceVersion), data?.['value'] ?? '']
  operations.push({ key, calledMs, answeredMs: performance.now(), effect: { kind: 'read', version, value } })
  return { expected: version }
}

/** Returns false when another server should be asked. */
async function writeRegister(
  access: AdminAccess,
  agent: Agent,
  { key, value, expected }: { key: string; value: string; expected: number },
  { operations, unknown, refused, acknowledgedMs }: History,
): Promise<boolean> {
  const metadata = { name: key, resourceVersion: String(expected) }
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value } })
  const calledMs = performance.now()
  const headers = { 'content-type': 'application/json' }
  const answer = await call({ ...access, agent, method: 'PUT', path: `${collection}/${key}`, headers, body })
  const answeredMs = performance.now()
  if (answer?.status === 200) {
    const version = Number(configMap.parse(JSON.parse(answer.body)).metadata.resourceVersion)
    operations.push({ key, calledMs, answeredMs, effect: { kind: 'write', version, value, expected } })
    acknowledgedMs.push(answeredMs)
    return true
  }
  if (answer?.status === 409) {
    operations.push({ key, calledMs, answeredMs, effect: { kind: 'conflict', expected } })
    return true
  }
  if (answer?.status === 503) refused.push(value)
  else unknown.push({ key, calledMs, value, expected })
  return false
}

function call(
  options: RequestOptions & { readonly body?: string },
): Promise<{ status: number; body: string } | undefined> {
  return httpGet({ ...options, signal: AbortSignal.timeout(requestTimeoutMs) }).catch(() => undefined)
}

/** A watch of the registers that goes on at the next server, after the last event that it got, whenever one ends. */
export async function followRegisters(
  group: ServerGroup,
  { first, afterRevision, signal }: { first: number; afterRevision: number; signal: AbortSignal },
): Promise<{ readonly shown: ShownVersion[]; readonly resumes: number; readonly problems: readonly string[] }> {
  const shown: ShownVersion[] = []
  const problems: string[] = []
  let resumes = -1
  let revision = afterRevision
  for (let server = first; !signal.aborted; server++) {
    resumes++
    for await (const { type, object } of watchOnce(group.access(server), revision, signal)) {
      if (type === 'ERROR') {
        problems.push(JSON.stringify(object))
        await sleep(100)
        break
      }
      const { metadata, data } = configMap.parse(object)
      revision = Number(metadata.resourceVersion)
      if (type !== 'BOOKMARK') shown.push({ key: metadata.name, version: revision, value: data?.['value'] ?? '' })
    }
    await sleep(20)
  }
  return { shown, resumes, problems }
}

const watchLine = z.object({ type: z.string(), object: z.unknown() })

async function* watchOnce(access: AdminAccess, revision: number, signal: AbortSignal) {
  const path = `${collection}?watch=true&resourceVersion=${revision}`
  try {
    const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
      httpsRequest({ ...access, agent: false, path, signal }, resolve)
        .on('error', reject)
        .end()
    })
    // A server that is killed ends the stream by an error, which the lines alone would not show.
    response.on('error', () => {})
    for await (const line of createInterface({ input: response })) yield watchLine.parse(JSON.parse(line))
  } catch {
    // The next server is asked.
  }
}
