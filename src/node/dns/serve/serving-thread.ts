// The entry of a serving thread: sockets, the cluster's names, and a line to the thread that resolves.
import { serveMainThread } from '../threads/main-link.ts'
import type { ServingAnswers, ServingRequest } from '../threads/messages.ts'
import { takePrecedence } from '../threads/precedence.ts'
import { reviveBuffers } from '../threads/revive.ts'
import { ErrandLine } from './errand-line.ts'
import { Places } from './places.ts'
import { Responder } from './responder.ts'

takePrecedence()
const line = new ErrandLine()
const responder = new Responder(line)
const places = new Places(responder)

type Handlers = {
  readonly [Kind in ServingRequest['kind']]: (
    request: Extract<ServingRequest, { readonly kind: Kind }>,
  ) => ServingAnswers[Kind] | Promise<ServingAnswers[Kind]>
}

const handlers: Handlers = {
  configure: (request) => {
    const settings = reviveBuffers(request.settings)
    responder.sources.changeNetworks(settings.clusterSources)
    responder.configure(settings, request.tables)
    return places.change(settings.places, settings.maxConnections)
  },
  table: ({ index, table }) => void responder.changeTable(index, table),
  sources: ({ networks }) => void responder.sources.changeNetworks(networks),
  resolver: ({ port }) => void line.connect(port),
  explain: ({ question, port }) => {
    const place = places.find(port)
    return place && responder.explain(Buffer.from(question), { address: '127.0.0.1', port: 1, transport: 'tcp', place })
  },
  series: () => [...responder.series()],
  close: async () => {
    await places.closeAll()
    line.close()
  },
}

serveMainThread<ServingRequest>((request) => {
  const handle = handlers[request.kind] as (request: ServingRequest) => unknown
  return handle(request)
})
