import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Upgraded } from '../../serve/index.ts'
import type { ConnectRoute } from '../route/route.ts'
import { badRequest } from '../status.ts'
import type { Store } from '../store/index.ts'
import { askedProtocol, type Exchange, keepAliveMs } from './exchange.ts'
import { passTunnel, tunnelledProtocols } from './forward-tunnel.ts'
import { upgradeHeaders } from './headers.ts'
import { askForLog, askForStream } from './kubelet-question.ts'
import type { KubeletAccess } from './kubelets.ts'
import { passRequest } from './pass-request.ts'
import { passUpgrade } from './pass-upgrade.ts'
import { findNodeBackend, findPodBackend, findServiceBackend } from './proxy-backend.ts'
import { serveLog } from './serve-log.ts'
import { endsStreams, translateStreams } from './translate-streams.ts'

export interface ConnectorParts {
  readonly store: Store
  readonly kubelets: KubeletAccess
  /** Whether a pod or a node may have the address: not loopback, link-local or the like. */
  readonly mayReach: (address: string) => boolean
}

export interface ConnectRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly upgraded: Upgraded | undefined
  readonly url: URL
}

/** Serves the subresources that connect a client with a pod, a Service or a node. */
export class Connector {
  readonly #parts: ConnectorParts
  readonly #stopping = new AbortController()

  constructor(parts: ConnectorParts) {
    this.#parts = parts
  }

  /** Serves one request; resolves when its connection has ended. Rejects with a Status where nothing was answered yet. */
  async serve(route: ConnectRoute, asked: ConnectRequest): Promise<void> {
    const gone = new AbortController()
    const leave = () => gone.abort()
    const { response, request } = asked
    const { socket } = request
    socket.setKeepAlive(true, keepAliveMs)
    response.once('close', leave)
    socket.once('close', leave)
    if (socket.destroyed) leave()
    const signal = AbortSignal.any([gone.signal, this.#stopping.signal])
    try {
      await this.#connect(route, { ...asked, signal, stopping: this.#stopping.signal })
    } finally {
      response.off('close', leave)
      socket.off('close', leave)
      // A backend whose answer was not passed on is left.
      leave()
    }
  }

  /** Ends all connections. */
  endAll(): void {
    this.#stopping.abort()
  }

  async #connect(route: ConnectRoute, exchange: Exchange): Promise<void> {
    const { subresource, name, namespace = '' } = route.target
    const asked = { ...this.#parts, namespace, name, query: exchange.url.searchParams }
    await this.#parts.store.catchUp()
    switch (subresource) {
      case 'log':
        return serveLog(exchange, name, await askForLog(asked))
      case 'proxy':
        return passRequest(exchange, await this.#findBackend(route), route.proxied)
      default: {
        const { kubelet: backend, pathAndQuery } = await askForStream(asked, subresource)
        if (askedProtocol(exchange) === undefined) throw badRequest('Upgrade request required')
        const method = exchange.request.method ?? 'GET'
        const question = { backend, method, pathAndQuery, headers: upgradeHeaders(exchange.request) }
        const isForward = subresource === 'portforward'
        if (isForward && tunnelledProtocols(exchange).length > 0) return passTunnel(exchange, question)
        if (!isForward && endsStreams(exchange)) return translateStreams(exchange, question)
        return passUpgrade(exchange, question)
      }
    }
  }

  #findBackend({ target: { resource, namespace = '', name } }: ConnectRoute) {
    if (resource.plural === 'nodes') return findNodeBackend(this.#parts, name)
    if (resource.plural === 'services') return findServiceBackend(this.#parts, namespace, name)
    return findPodBackend(this.#parts, namespace, name)
  }
}
