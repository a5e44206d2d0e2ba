import { isDeepStrictEqual } from 'node:util'
import type { Dialect } from '../../model/dialect.ts'
import type { Cidr, Ip } from '../../model/ip.ts'
import { firstServiceIp } from '../allocation/pools.ts'
import { type ApiDocument, listAt } from '../document.ts'
import { storeKey } from '../resources/keys.ts'
import { systemPriorityClasses } from '../resources/priority-classes.ts'
import { reviseObject } from '../verbs/update.ts'
import type { VerbContext } from '../verbs/verb-context.ts'
import { advertise } from './advertise.ts'
import { ensureClusterTrust } from './cluster-trust.ts'
import { ensure, writeOptions } from './ensure.ts'

export interface FirstObjectsOptions {
  readonly dialect: Dialect
  /** The service CIDRs: one, or one of each family. */
  readonly serviceCidrs: readonly Cidr[]
  readonly securePort: number
  /** The address at which nodes reach this server; without one it writes no endpoints of the kubernetes Service. */
  readonly advertiseAddress: Ip | undefined
  /** The default DNS configuration of the cluster; without it the server creates no ConfigMap. */
  readonly corefile?: string | undefined
  /** The CA of client certificates, PEM, which other servers of the cluster read from a ConfigMap. */
  readonly clientCaPem: string | undefined
}

/** Creates the objects that clients expect in every cluster, where they are missing. */
export async function createFirstObjects(context: VerbContext, options: FirstObjectsOptions): Promise<void> {
  const { serviceCidrs, securePort, advertiseAddress } = options
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
  await ensureClusterTrust(context, options)
  if (advertiseAddress !== undefined) await advertise(context, { ...options, addresses: [advertiseAddress] })
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
