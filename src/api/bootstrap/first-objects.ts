import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type Cidr, type Ip, ipFamily } from '../../model/ip.ts'
import { firstServiceIp } from '../allocation/pools.ts'
import { type ApiDocument, listAt } from '../document.ts'
import { storeKey } from '../resources/keys.ts'
import { systemPriorityClasses } from '../resources/priority-classes.ts'
import { StatusError } from '../status.ts'
import { createObject } from '../verbs/create.ts'
import { replaceObject, reviseObject } from '../verbs/update.ts'
import type { VerbContext } from '../verbs/verb-context.ts'

export interface FirstObjectsOptions {
  readonly dialect: Dialect
  /** The service CIDRs: one, or one of each family. */
  readonly serviceCidrs: readonly Cidr[]
  readonly securePort: number
  /** The address at which nodes reach this server; without one the kubernetes Service has no endpoints. */
  readonly advertiseAddress: Ip | undefined
  /** The default DNS configuration of the cluster; without it the server creates no ConfigMap. */
  readonly corefile?: string | undefined
}

const writeOptions = { dryRun: false, manager: 'platnet' } as const

/** Creates the objects that clients expect in every cluster, where they are missing. */
export async function createFirstObjects(context: VerbContext, options: FirstObjectsOptions): Promise<void> {
  const { serviceCidrs, securePort } = options
  const [cidr] = serviceCidrs
  for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) {
    await ensure(context, { plural: 'namespaces', namespace: undefined }, { metadata: { name } })
  }
  for (const { name, ...fields } of systemPriorityClasses) {
    const place = { group: options.dialect.groups.scheduling, plural: 'priorityclasses', namespace: undefined }
    await ensure(context, place, { metadata: { name }, ...fields })
  }
  await ensureServiceCidr(context, options)
  await ensure(
    context,
    { plural: 'services', namespace: 'default' },
    {
      metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
      spec: {
        clusterIP: cidr && firstServiceIp(cidr),
        ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: securePort }],
      },
    },
  )
  await ensureCorefile(context, options)
  await advertise(context, options)
}

/** Creates the ConfigMap with the DNS configuration of the nodes, where it can be read and edited. An existing one is kept. */
async function ensureCorefile(context: VerbContext, { corefile }: FirstObjectsOptions): Promise<void> {
  if (corefile === undefined) return
  const body = { metadata: { name: 'coredns' }, data: { Corefile: corefile } }
  await ensure(context, { plural: 'configmaps', namespace: 'kube-system' }, body)
}

/**
 * Creates the ServiceCIDR of the first Services, under the dialect's name; a store of an earlier version has `default`. Where the option has
 * gained a second family, the existing ServiceCIDR gets it too; it changes in no other way.
 */
async function ensureServiceCidr(context: VerbContext, { dialect, serviceCidrs }: FirstObjectsOptions): Promise<void> {
  const place = { group: dialect.groups.networking, plural: 'servicecidrs', namespace: undefined }
  const isThere = (await context.store.get(storeKey(place, undefined, 'default'))) !== undefined
  const name = dialect.name === 'kubernetes' && !isThere ? 'kubernetes' : 'default'
  const body = { metadata: { name }, spec: { cidrs: [...serviceCidrs] } }
  await ensure(context, place, body)
  const resource = context.registry.find(place.group, 'v1', place.plural)
  if (resource === undefined || serviceCidrs.length < 2) return
  const target = { resource, namespace: undefined, name: body.metadata.name, subresource: undefined }
  const extend = (found: ApiDocument): ApiDocument =>
    isDeepStrictEqual(listAt(found, 'spec', 'cidrs'), serviceCidrs.slice(0, 1)) ? { ...found, spec: body.spec } : found
  await reviseObject(context, target, extend, writeOptions)
}

/** Writes the endpoints of the kubernetes Service; again at each start, because address or port may have changed. */
async function advertise(context: VerbContext, options: FirstObjectsOptions): Promise<void> {
  const { dialect, securePort, advertiseAddress } = options
  if (advertiseAddress === undefined) return
  const port = { name: 'https', port: securePort, protocol: 'TCP' }
  const endpoints = {
    metadata: { name: 'kubernetes', labels: { [dialect.labels.skipMirror]: 'true' } },
    subsets: [{ addresses: [{ ip: advertiseAddress }], ports: [port] }],
  }
  const slice = {
    metadata: { name: 'kubernetes', labels: { [dialect.labels.serviceName]: 'kubernetes' } },
    addressType: ipFamily(advertiseAddress),
    endpoints: [{ addresses: [advertiseAddress], conditions: { ready: true } }],
    ports: [port],
  }
  const place = { namespace: 'default' }
  await ensure(context, { ...place, plural: 'endpoints' }, endpoints, true)
  await ensure(context, { ...place, group: dialect.groups.discovery, plural: 'endpointslices' }, slice, true)
}

interface Place {
  readonly group?: string
  readonly plural: string
  readonly namespace: string | undefined
}

type Manifest = Readonly<Record<string, Json>> & { readonly metadata: JsonObject & { readonly name: string } }

async function ensure(context: VerbContext, place: Place, body: Manifest, replaces = false): Promise<void> {
  const resource = context.registry.find(place.group ?? '', 'v1', place.plural)
  if (resource === undefined) return
  const target = { resource, namespace: place.namespace, name: undefined, subresource: undefined }
  try {
    await createObject(context, target, body, writeOptions)
  } catch (thrown) {
    if (!(thrown instanceof StatusError) || thrown.code !== 'AlreadyExists') throw thrown
    if (replaces) await replaceObject(context, { ...target, name: body.metadata.name }, body, writeOptions)
  }
}
