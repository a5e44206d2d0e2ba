import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../model/api-object.ts'
import { ipFamily, parseCidr, parseIp } from '../../model/ip.ts'
import { CniError } from './errors.ts'
import type { CniAddress, CniResult, CniRoute } from './types.ts'
import { isAtLeast, since } from './versions.ts'

const ip = z
  .string()
  .transform(
    (text, context) => parseIp(text) ?? refuse(context, `expected an IP address, found ${JSON.stringify(text)}`),
  )

/** An optional field; null counts as absent, as in libcni. */
const address = z.object({ address: z.string(), gateway: ip.nullish(), interface: z.number().nullish() })
const route = z.object({ dst: z.string(), gw: ip.nullish() })
const link = z.object({ name: z.string(), mac: z.string().nullish(), sandbox: z.string().nullish() })
const names = z
  .array(z.string())
  .nullish()
  .transform((list) => list ?? [])

const resultSchema = z.object({
  ips: z.array(address).nullish(),
  interfaces: z.array(link).nullish(),
  routes: z.array(route).nullish(),
  dns: z.object({ nameservers: names, domain: z.string().nullish(), search: names, options: names }).nullish(),
})

/** Parses a result of versions 0.3.0 to 1.1.0. Throws CniError `bad-output` that names the field. */
export function parseResult(json: JsonObject, from: string): CniResult {
  const parsed = resultSchema.safeParse(json)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw badResult(from, `${issue?.path.join('.')}: ${issue?.message}`)
  }
  const { ips, interfaces, routes, dns } = parsed.data
  const { domain, ...lists } = dns ?? { nameservers: [], search: [], options: [] }
  return {
    ips: (ips ?? []).map((one) => readAddress(one, from, (interfaces ?? []).length)),
    interfaces: (interfaces ?? []).map(({ name, mac, sandbox }) => ({
      name,
      ...(mac && { mac }),
      ...(sandbox && { sandbox }),
    })),
    routes: (routes ?? []).map((one) => readRoute(one, from)),
    dns: { ...lists, ...(domain && { domain }) },
  }
}

/** Converts a result to another version: since 1.0.0 an address has no field for its family. */
export function convertResult(json: JsonObject, cniVersion: string): JsonObject {
  const { ips } = json
  if (json['cniVersion'] === cniVersion) return json
  if (!Array.isArray(ips)) return { ...json, cniVersion }
  const isPlain = isAtLeast(cniVersion, since.plainAddresses)
  return { ...json, cniVersion, ips: ips.map((one: Json) => (isObject(one) ? convertAddress(one, isPlain) : one)) }
}

function convertAddress({ version: _, ...rest }: JsonObject, isPlain: boolean): JsonObject {
  return isPlain ? rest : { version: String(rest['address']).includes(':') ? '6' : '4', ...rest }
}

function readAddress(one: z.output<typeof address>, from: string, links: number): CniAddress {
  const [text = '', length = ''] = one.address.split('/')
  const found = parseIp(text)
  if (found === undefined || parseCidr(`${text}/${length}`) === undefined) {
    throw badResult(
      from,
      `ips.address: expected an address with its prefix length, found ${JSON.stringify(one.address)}`,
    )
  }
  const index = one.interface ?? -1
  const isIndex = Number.isInteger(index) && index >= 0 && index < links
  if (one.gateway && ipFamily(one.gateway) !== ipFamily(found))
    throw badResult(from, 'ips.gateway is of the other family')
  return {
    ip: found,
    prefixLength: Number(length),
    ...(one.gateway && { gateway: one.gateway }),
    ...(isIndex && { interface: index }),
  }
}

function readRoute({ dst, gw }: z.output<typeof route>, from: string): CniRoute {
  const destination = parseCidr(dst)
  if (destination === undefined) throw badResult(from, `routes.dst: expected a network, found ${JSON.stringify(dst)}`)
  return { destination, ...(gw && { gateway: gw }) }
}

function badResult(from: string, what: string): CniError {
  return new CniError('bad-output', `the result of ${from} makes no sense: ${what}`, { object: from })
}

function refuse(context: z.core.ParsePayload, message: string): never {
  context.issues.push({ code: 'custom', input: context.value, message })
  return z.NEVER
}
