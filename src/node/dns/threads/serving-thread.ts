// The entry of a serving thread: sockets, the cluster's names, and a line to the thread that resolves.

import { ResolveClient } from '../resolver/resolve-client.ts'
import { Listeners } from '../serve/listeners.ts'
import { Responder } from '../serve/responder.ts'
import { serveMainThread } from './main-link.ts'
import type { ServingAnswers, ServingRequest } from './messages.ts'
import { raiseThreadPriority } from './priority.ts'
import { restoreBuffers } from './restore-buffers.ts'

raiseThreadPriority()
const line = new ResolveClient()
const responder = new Responder(line)
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
  resolver: ({ port }) => void line.connect(port),
  explain: ({ question, port }) => {
    const listener = listeners.find(port)
    return (
      listener &&
      responder.explain(Buffer.from(question), { address: '127.0.0.1', port: 1, transport: 'tcp', listener })
    )
  },
  series: () => [...responder.series()],
  close: async () => {
    await listeners.closeAll()
    line.close()
  },
}

serveMainThread<ServingRequest>((request) => {
  const handle = handlers[request.kind] as (request: ServingRequest) => unknown
  return handle(request)
})
