import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type Ip, ipFamily } from '../../model/ip.ts'
import { storeKey } from '../resources/keys.ts'
import type { VerbContext } from '../verbs/verb-context.ts'
import { ensure, type Manifest, type Place } from './ensure.ts'

/** Writes the endpoints of the kubernetes Service, where they are others: the addresses at which nodes reach the servers. */
export async function advertise(
  context: VerbContext,
  { dialect, securePort, addresses }: { dialect: Dialect; securePort: number; addresses: readonly Ip[] },
): Promise<void> {
  const [first] = addresses
  if (first === undefined) return
  const port = { name: 'https', port: securePort, protocol: 'TCP' }
  const endpoints = {
    metadata: { name: 'kubernetes', labels: { [dialect.labels.skipMirror]: 'true' } },
    subsets: [{ addresses: addresses.map((ip) => ({ ip })), ports: [port] }],
  }
  const slice = {
    metadata: { name: 'kubernetes', labels: { [dialect.labels.serviceName]: 'kubernetes' } },
    addressType: ipFamily(first),
    endpoints: addresses.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    ports: [port],
  }
  await replace(context, { namespace: 'default', plural: 'endpoints' }, endpoints)
  await replace(context, { namespace: 'default', group: dialect.groups.discovery, plural: 'endpointslices' }, slice)
}

async function replace(context: VerbContext, place: Place, body: Manifest): Promise<void> {
  const entry = await context.store.get(storeKey(place, place.namespace, body.metadata.name))
  const found = entry && (JSON.parse(entry.value) as Readonly<Record<string, Json>>)
  const { metadata: _, ...fields } = body
  const isSame = found && Object.entries(fields).every(([name, value]) => isDeepStrictEqual(found[name], value))
  if (!isSame) await ensure(context, place, body, true)
}
