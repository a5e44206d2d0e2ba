// The entry of a serving thread: sockets, a view of the cluster's names, and a channel to the resolver thread.
import { ResolveClient } from '../resolver/resolve-client.ts'
import { Listeners } from '../serve/listeners.ts'
import { Responder } from '../serve/responder.ts'
import { mainThreadLog, serveMainThread } from './main-link.ts'
import type { Explanation, ServingAnswers, ServingRequest } from './messages.ts'
import { raiseThreadPriority } from './priority.ts'
import { restoreBuffers } from './restore-buffers.ts'

raiseThreadPriority()
const resolver = new ResolveClient()
const responder = new Responder({
  resolve: (request) => resolver.resolve(request),
  writeLog: (line) => mainThreadLog.info(line),
})
const listeners = new Listeners(responder)

type Handlers = {
  readonly [Kind in ServingRequest['kind']]: (
    request: Extract<ServingRequest, { readonly kind: Kind }>,
  ) => ServingAnswers[Kind] | Promise<ServingAnswers[Kind]>
}

const handlers: Handlers = {
  configure: (request) => {
    const settings = restoreBuffers(request.settings)
    responder.sources.changeNetworks(settings.clusterSources)
    responder.configure(settings, request.tables)
    return listeners.change(settings.addresses, settings.maxConnections)
  },
  table: ({ index, table }) => void responder.changeTable(index, table),
  sources: ({ networks }) => void responder.sources.changeNetworks(networks),
  resolver: ({ port }) => void resolver.connect(port),
  explain: ({ question, port }) => explain(question, port),
  series: () => [...responder.series()],
  close: async () => {
    await listeners.closeAll()
    resolver.close()
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
