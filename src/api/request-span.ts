import type { IncomingMessage } from 'node:http'
import { parseTraceparent, type Span, silentSpan, type Tracer } from '../observe/index.ts'
import { anonymous } from './access/authenticate.ts'
import type { User } from './identity.ts'
import type { Route } from './route/route.ts'

export interface TracedRequest {
  readonly request: IncomingMessage
  readonly route: Route
  readonly user: User
  /** Milliseconds since 1970. */
  readonly startMs: number
}

/**
 * Starts the span of a request for objects. A watch has none: it has no end of its own. The trace of a known client goes on here; a client
 * without an identity cannot decide what is exported.
 */
export function startRequestSpan(tracer: Tracer, { request, route, user, startMs }: TracedRequest): Span {
  if (!tracer.isOn || route.kind !== 'resource' || route.verb === 'watch') return silentSpan
  const { verb, target } = route
  const { resource, subresource, namespace, name } = target
  const what = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`
  const parent = user === anonymous ? undefined : parseTraceparent(request.headers['traceparent'])
  return tracer.start(`${verb} ${what}`, {
    kind: 'server',
    parent,
    startMs,
    attributes: {
      'http.request.method': request.method,
      'user_agent.original': request.headers['user-agent'],
      'enduser.id': user.name,
      'platnet.verb': verb,
      'platnet.group': resource.group,
      'platnet.resource': what,
      'platnet.namespace': namespace,
      'platnet.name': name,
    },
  })
}

/** Ends the span of a request with the code of its answer; a code from 500 on is an error of this server. */
export function endRequestSpan(span: Span, code: number): void {
  if (!span.isRecorded) return
  span.set({ 'http.response.status_code': code })
  span.end(code >= 500 ? { error: `answered with ${code}` } : {})
}
