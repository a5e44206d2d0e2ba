import { certificateList } from './certificates.ts'
import type { HaproxyPaths } from './settings.ts'

const plainProxy = 'next'
const tlsProxy = 'next-tls'
/** Sockets below the root of the workers, which an old worker reaches too. */
const plainSocket = 'http'
const tlsSocket = 'https'

/**
 * Rules by which a worker that a reload replaced passes on each request that still comes, to the worker that replaced it. A connection that was idle at
 * the reload so meets the new routes, and is closed by the answer.
 */
export const handoverRules: readonly string[] = [
  `http-request set-var(txn.route) ssl_fc,iif(${tlsProxy},${plainProxy}) if { stopping }`,
  'http-request allow if { stopping }',
]

/** Listeners for the worker before; only the user of the workers connects to them. TLS is spoken there so that the rules see it. */
export function handoverBinds({ emptyRoot }: HaproxyPaths, user: string, tlsOptions: string): readonly string[] {
  const bind = (socket: string) => `bind unix@${emptyRoot}/${socket} mode 600 user ${user} accept-proxy`
  return [bind(plainSocket), `${bind(tlsSocket)}${tlsOptions}`]
}

/** Backends that lead to the next worker. It counts and logs the request, and sees the client's address. */
export function handoverBackends(): readonly { readonly name: string; readonly lines: readonly string[] }[] {
  const server = (socket: string, options: string) => `server worker unix@/${socket} send-proxy-v2${options}`
  const quiet = ['http-request set-log-level silent', 'http-reuse never']
  return [
    { name: plainProxy, lines: [...quiet, server(plainSocket, '')] },
    { name: tlsProxy, lines: [...quiet, server(tlsSocket, ' ssl verify none sni ssl_fc_sni alpn http/1.1')] },
  ]
}

/** Tells what a bind of TLS needs: the list of certificates, and whether a name without one is refused. */
export function tlsOptions(hasDefault: boolean): string {
  return ` ssl crt-list ${certificateList} alpn h2,http/1.1${hasDefault ? '' : ' strict-sni'}`
}
