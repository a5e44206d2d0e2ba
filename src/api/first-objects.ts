import type { Json } from '../model/api-object.ts'
import type { Cidr } from '../model/ip.ts'
import { firstServiceIp } from './allocation/pools.ts'
import { StatusError } from './status.ts'
import { createObject } from './verbs/create.ts'
import type { VerbContext } from './verbs/verb-context.ts'

/** Makes what every cluster has and clients count on, where it is not there yet. */
export async function createFirstObjects(context: VerbContext, serviceCidr: Cidr, securePort: number): Promise<void> {
  for (const name of ['default', 'kube-system']) {
    await ensure(context, 'namespaces', undefined, { metadata: { name } })
  }
  await ensure(context, 'services', 'default', {
    metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      clusterIP: firstServiceIp(serviceCidr),
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: securePort }],
    },
  })
}

async function ensure(context: VerbContext, plural: string, namespace: string | undefined, body: Json): Promise<void> {
  const resource = context.registry.find('', 'v1', plural)
  if (resource === undefined) return
  try {
    const target = { resource, namespace, name: undefined, subresource: undefined }
    await createObject(context, target, body, { dryRun: false, manager: 'platnet' })
  } catch (thrown) {
    if (!(thrown instanceof StatusError) || thrown.code !== 'AlreadyExists') throw thrown
  }
}
