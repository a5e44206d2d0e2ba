// The entry of a serving thread: sockets, a view of the cluster's names, and the resolver or a channel to the thread that has it.
import type { MessagePort } from 'node:worker_threads'
import { DatagramSweep } from '../../../host/datagrams/index.ts'
import type { Resolve } from '../plugins/forward/resolve-request.ts'
import { ResolveClient } from '../resolver/resolve-client.ts'
import type { TakeDatagrams } from '../resolver/resolve-server.ts'
import { Listeners } from '../serve/listeners.ts'
import { Responder } from '../serve/responder.ts'
import { keepClient, type ReceivedDatagram } from '../serve/udp-server.ts'
import { copyBytes } from '../wire/bytes.ts'
import { mainThreadLog, serveMainThread } from './main-link.ts'
import type { Explanation, ServingAnswers, ServingRequest } from './messages.ts'
import { raiseThreadPriority } from './priority.ts'
import type { Resolvers } from './resolvers.ts'
import { restoreBuffers } from './restore-buffers.ts'

raiseThreadPriority()
const log = mainThreadLog('serve')
const channel = new ResolveClient(({ block, question, copy }) =>
  responder.keepCopy(block, Buffer.from(question.buffer, question.byteOffset, question.length), copy),
)
let resolvers: Promise<Resolvers> | undefined
let local: Resolvers | undefined
let resolve: Resolve = (question) => channel.resolve(question)
const responder = new Responder({
  resolve: (question) => resolve(question),
  localResolver: () => local,
  writeLog: (line) => log.info(line),
})
const sweep = DatagramSweep.open()
const listeners = new Listeners(responder, forward, sweep)

/** The thread with the resolver answers datagrams that wait for upstreams, whichever thread received them. */
function forward({ bytes, length, client, source, replies }: ReceivedDatagram): boolean {
  if (local === undefined) return channel.handOver(client.listener.current, bytes, length, source)
  responder.forward({ bytes: copyBytes(bytes, length), client: keepClient(client), source, replies })
  return true
}

const takeDatagrams: TakeDatagrams = (handed, giveCopy) => listeners.takeHandedOver(handed, giveCopy)

/** Loads the resolver on the thread that has it; the others do without its modules. */
function openResolvers(): Promise<Resolvers> {
  resolvers ??= import('./resolvers.ts').then(({ Resolvers }) => {
    const opened = new Resolvers(sweep)
    resolve = opened.resolve
    local = opened
    return opened
  })
  return resolvers
}

type Handlers = {
  readonly [Kind in ServingRequest['kind']]: (
    request: Extract<ServingRequest, { readonly kind: Kind }>,
  ) => ServingAnswers[Kind] | Promise<ServingAnswers[Kind]>
}

const handlers: Handlers = {
  configure: async (request) => {
    const settings = restoreBuffers(request.settings)
    responder.sources.changeNetworks(settings.clusterSources)
    responder.configure(settings, request.tables)
    const failures = await listeners.change(settings.addresses, settings.maxConnections)
    local?.listenAt(listeners.places)
    return failures
  },
  table: ({ index, table }) => void responder.changeTable(index, table),
  sources: ({ networks }) => void responder.sources.changeNetworks(networks),
  resolve: async ({ blocks }) => void (await openResolvers()).configure(restoreBuffers(blocks)),
  'resolve for': async ({ port }) => void (await openResolvers()).connect(port, takeDatagrams),
  'resolve by': ({ port }: { port: MessagePort }) => void channel.connect(port),
  trace: async ({ sampling }) => void (await (await openResolvers()).trace(sampling)),
  explain: ({ question, port }) => explain(question, port),
  series: async () => [...responder.series(), ...channel.series(), ...((await resolvers)?.series() ?? [])],
  close: async () => {
    await listeners.closeAll()
    channel.close()
    const opened = await resolvers
    opened?.close()
    sweep?.close()
  },
}

async function explain(question: Uint8Array, port: number): Promise<Explanation | undefined> {
  const listener = listeners.find(port)
  if (listener === undefined) return undefined
  const client = { address: '127.0.0.1', port: 1, transport: 'tcp', listener } as const
  const answer = await responder.explain(Buffer.from(question), client)
  return answer && { plugin: answer.plugin, ageMs: answer.ageMs, message: answer.message }
}

serveMainThread<ServingRequest>((request) => {
  const handle = handlers[request.kind] as (request: ServingRequest) => unknown
  return handle(request)
})
