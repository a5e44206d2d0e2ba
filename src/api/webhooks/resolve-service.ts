import { randomInt } from 'node:crypto'
import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../document.ts'
import { collectionPrefix } from '../resources/keys.ts'
import { readDocument } from '../resources/read-document.ts'
import type { Store } from '../store/index.ts'
import type { ClientConfig } from './webhook.ts'

/** Where a webhook listens: an address or a name, without brackets. */
export interface Address {
  readonly host: string
  readonly port: number
}

export interface ServiceParts {
  readonly store: Store
  /** The label of an EndpointSlice that names its Service. */
  readonly serviceLabel: string
  /** Whether an endpoint may have the address: not loopback, link-local or the like. */
  readonly mayReach: (address: string) => boolean
}

type ServiceClient = ClientConfig & { readonly kind: 'service' }

/**
 * Returns the address of a ready endpoint of a Service, since no proxy need run beside the server; of a Service that is
 * an external name, that name. Returns a text that says why there is none.
 */
export async function resolveService(parts: ServiceParts, client: ServiceClient): Promise<Address | string> {
  const { namespace, name, port } = client
  const service = await readDocument(parts.store, { plural: 'services' }, namespace, name)
  if (service === undefined) return `service ${JSON.stringify(name)} not found`
  if (textAt(service['spec'], 'type') === 'ExternalName') return { host: textAt(service['spec'], 'externalName'), port }
  const servicePort = listAt(service['spec'], 'ports').find((each) => textAt(each, 'port') === String(port))
  if (servicePort === undefined) return `no service port ${port} found for service ${JSON.stringify(name)}`
  const slices = await findSlices(parts, namespace, name)
  const families = listAt(service['spec'], 'ipFamilies')
  const found = endpointsOf(slices, textAt(servicePort, 'name'), textAt(families[0])).filter(({ host }) =>
    parts.mayReach(host),
  )
  const chosen = found.length === 0 ? undefined : found[randomInt(found.length)]
  return chosen ?? `no endpoints available for service ${JSON.stringify(name)}`
}

async function findSlices(
  { store, serviceLabel }: ServiceParts,
  namespace: string,
  name: string,
): Promise<readonly ApiDocument[]> {
  const { entries } = await store.range(collectionPrefix({ plural: 'endpointslices' }, namespace))
  const label = JSON.stringify(name)
  // Nearly all slices of a namespace belong to other Services, and are not parsed.
  return entries
    .filter(({ value }) => value.includes(label))
    .map(({ value }) => JSON.parse(value) as ApiDocument)
    .filter(({ metadata }) => metadata.labels?.[serviceLabel] === name)
}

/** Returns the ready endpoints that have the port of that name: those of the preferred family, where it has any. */
export function endpointsOf(
  slices: readonly ApiDocument[],
  portName: string,
  preferredFamily: string,
): readonly Address[] {
  const preferred = slices.filter(({ addressType }) => addressType === preferredFamily)
  const others = slices.filter(({ addressType }) => addressType !== preferredFamily)
  const first = preferred.flatMap((slice) => readyEndpoints(slice, portName))
  return first.length > 0 ? first : others.flatMap((slice) => readyEndpoints(slice, portName))
}

function readyEndpoints(slice: ApiDocument, portName: string): readonly Address[] {
  const port = valueAt(
    listAt(slice['ports']).find((each) => textAt(each, 'name') === portName),
    'port',
  )
  if (typeof port !== 'number') return []
  return listAt(slice['endpoints'])
    .filter(isReady)
    .flatMap((endpoint) => listAt(endpoint, 'addresses').slice(0, 1))
    .map((address) => ({ host: textAt(address), port }))
}

/** An endpoint of which nothing is known counts as ready. */
function isReady(endpoint: Json): boolean {
  return valueAt(endpoint, 'conditions', 'ready') !== false
}
