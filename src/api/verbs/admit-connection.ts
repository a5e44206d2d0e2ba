import type { JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import { isSwitchedOn } from '../query-switch.ts'
import type { ConnectRoute } from '../route/route.ts'
import { admitAsGiven, isAdmitted } from './admit-request.ts'
import type { VerbContext } from './verb-context.ts'

/**
 * Asks admission about a connection with a pod, a Service or a node; rejects with a Status. The object is the options in
 * the query (PodExecOptions, …). A log is a read and not subject to admission.
 */
export async function admitConnection(context: VerbContext, { target, proxied }: ConnectRoute, query: URLSearchParams) {
  if (target.subresource === 'log' || !isAdmitted(context)) return
  const kind = optionsKind(target)
  const fields = target.subresource === 'proxy' ? { path: proxied.path } : streamOptions(query)
  const object: ApiDocument = { kind, apiVersion: 'v1', metadata: {}, ...fields }
  await admitAsGiven(context, {
    operation: 'CONNECT',
    target,
    kind: { group: '', version: 'v1', kind },
    object,
    oldObject: undefined,
    options: undefined,
    isDryRun: false,
  })
}

const optionsKinds = { attach: 'Attach', exec: 'Exec', log: 'Log', portforward: 'PortForward', proxy: 'Proxy' } as const

/** Returns the kind of the options: PodExecOptions, ServiceProxyOptions, … */
function optionsKind({ resource, subresource }: ConnectRoute['target']): string {
  return `${resource.kind}${optionsKinds[subresource]}Options`
}

function streamOptions(query: URLSearchParams): JsonObject {
  const on = ['stdin', 'stdout', 'stderr', 'tty'].filter((name) => isSwitchedOn(query.get(name)))
  const [container, command, ports] = [query.get('container'), query.getAll('command'), query.getAll('ports')]
  return {
    ...Object.fromEntries(on.map((name) => [name, true])),
    ...(container ? { container } : {}),
    ...(command.length === 0 ? {} : { command }),
    ...(ports.length === 0 ? {} : { ports: ports.map(Number) }),
  }
}
