import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { parseIp } from '../../model/ip.ts'
import { specialKindOf } from '../../model/special-addresses.ts'
import type { Question } from './ask-webhook.ts'
import { describeFailure } from './describe-failure.ts'
import { type Address, resolveService, type ServiceParts } from './resolve-service.ts'
import type { Webhook } from './webhook.ts'
import { callFailed } from './webhook-error.ts'

const notAllowed = 'address not allowed'

/** Where a question goes. */
export type Location = Pick<Question, 'url' | 'address' | 'serverName' | 'host' | 'pathAndQuery'>

/** Finds the server of a webhook. Throws WebhookError. */
export async function locateWebhook(parts: ServiceParts, { client, timeoutMs }: Webhook): Promise<Location> {
  const query = `timeout=${timeoutMs / 1000}s`
  if (client.kind === 'url') return locateUrl(new URL(client.url), query)
  const serverName = `${client.name}.${client.namespace}.svc`
  const host = `${serverName}:${client.port}`
  const pathAndQuery = `${client.path || '/'}?${query}`
  const url = `https://${host}${pathAndQuery}`
  const found = await resolveService(parts, client)
  if (typeof found === 'string') throw callFailed(url, found)
  const address = { ...found, host: await resolveOnce(url, found) }
  if (!parts.mayReach(address.host)) throw callFailed(url, notAllowed)
  return { url, address, serverName, host, pathAndQuery }
}

async function locateUrl(parsed: URL, query: string): Promise<Location> {
  const { hostname, host, pathname, port } = parsed
  const pathAndQuery = `${pathname}?${query}`
  const url = `https://${host}${pathAndQuery}`
  const serverName = hostname.replace(/^\[|\]$/g, '')
  const named = { host: serverName, port: port === '' ? 443 : Number(port) }
  const address = { ...named, host: await resolveOnce(url, named) }
  if (!isForUrl(address.host)) throw callFailed(url, notAllowed)
  return { url, address, serverName, host, pathAndQuery }
}

/** A name is resolved once, so that the address that was checked is the one that is dialled. */
async function resolveOnce(url: string, { host, port }: Address): Promise<string> {
  if (isIP(host) !== 0) return host
  try {
    return (await lookup(host)).address
  } catch (cause) {
    throw callFailed(url, describeFailure(cause as Error, `${host}:${port}`), cause)
  }
}

/**
 * Checks whether a URL may lead to the address. Only administrators write URLs, and a webhook beside the server is usual,
 * so loopback is allowed, as in Kubernetes. Link-local and metadata addresses are no place of a webhook.
 */
function isForUrl(address: string): boolean {
  const ip = parseIp(address)
  if (ip === undefined) return false
  const kind = specialKindOf(ip)
  return kind === undefined || kind === 'loopback'
}
