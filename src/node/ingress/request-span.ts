import {
  parseTraceparent,
  type Span,
  type SpanAttributes,
  type TraceContext,
  type Tracer,
} from '../../observe/index.ts'
import type { ServedRequest } from './driver.ts'

/** The place of a served request in its trace. */
export interface ServedTrace {
  readonly context: TraceContext
  /** Undefined where the trace began here. */
  readonly parent: TraceContext | undefined
  /** Milliseconds since 1970. */
  readonly endMs: number
}

/** Starts the span of a request through an Ingress; the trace of the client goes on. */
export function startRequestSpan(tracer: Tracer, traceparent: string | undefined): Span {
  const parent = tracer.isOn ? parseTraceparent(traceparent) : undefined
  return tracer.start('ingress request', { kind: 'server', parent })
}

export function endRequestSpan(span: Span, request: ServedRequest): void {
  if (!span.isRecorded) return
  span.set(requestAttributes(request))
  span.end(errorOf(request))
}

/** Adds the span of a request that another program served. */
export function addRequestSpan(tracer: Tracer, request: ServedRequest, served: ServedTrace): void {
  tracer.add({
    name: 'ingress request',
    kind: 'server',
    context: served.context,
    parent: served.parent,
    links: [],
    attributes: requestAttributes(request),
    startMs: served.endMs - request.durationMs,
    endMs: served.endMs,
    error: errorOf(request).error,
  })
}

/** Neither headers nor the query of a request are among them. */
function requestAttributes(request: ServedRequest): SpanAttributes {
  return {
    'http.request.method': request.method,
    'http.response.status_code': request.status,
    'url.path': request.path,
    'url.scheme': request.isTls ? 'https' : 'http',
    'client.address': request.client,
    'server.address': request.host,
    'platnet.request_id': request.requestId,
    'platnet.ingress': request.ingress,
    'platnet.service': request.service,
    'platnet.endpoint': request.endpoint,
  }
}

function errorOf({ status, fault }: ServedRequest): { readonly error?: string } {
  return status >= 500 || fault !== undefined ? { error: fault ?? `answered with ${status}` } : {}
}
