import type { IncomingMessage } from 'node:http'
import { isIPv4 } from 'node:net'
import { isLoopback } from './access.ts'
import type { TextAnswer } from './router.ts'

/**
 * Refuses what a page of another origin lets the operator's browser ask. From loopback no identity is asked for, so a name that an attacker
 * points to 127.0.0.1 (DNS rebinding) must not read: there `Host` has to be a loopback name. Browsers also say by whom they ask
 * (Fetch Metadata): another site may link to the page and read nothing.
 */
export function refuseForeignPage(message: IncomingMessage): TextAnswer | undefined {
  const { host = '', 'sec-fetch-site': site, 'sec-fetch-mode': mode } = message.headers
  if (isLoopback(message.socket.remoteAddress) && !isLoopbackHost(host))
    return forbidden('over loopback the page has the name localhost, 127.0.0.1 or [::1]')
  const isForeign = site === 'cross-site' || site === 'same-site'
  if (isForeign && mode !== 'navigate') return forbidden('a page of another origin may not read this')
  return undefined
}

function isLoopbackHost(host: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  return name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'))
}

function forbidden(reason: string): TextAnswer {
  return { status: 403, body: `forbidden: ${reason}\n` }
}
