import { z } from 'zod'
import type { Dialect } from '../model/dialect.ts'
import { PlatnetError } from '../model/errors.ts'
import { type Ip, parseIp } from '../model/ip.ts'
import type { ClusterApi } from './cluster-api.ts'
import { describeService, describeSlice, type PodEndpoint, type ServiceDescription } from './manifests.ts'

/** The API server's answer to something the demo stored lacks what a Service must have. */
class UnexpectedAnswerError extends PlatnetError<'unexpected-answer'> {}

const storedSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) })
const storedServiceSchema = storedSchema.extend({
  spec: z.object({ clusterIP: z.string(), ports: z.array(z.object({ nodePort: z.number().optional() })) }),
})

/** A Service that exists in the cluster, and the endpoints that the demo gives it. */
export interface WebService {
  readonly name: string
  /** In full, as the cluster's DNS has it. */
  readonly hostName: string
  readonly clusterIp: Ip
  readonly port: number
  readonly nodePort: number | undefined
  /** Resolves when the kernel sends new connections to the ready ones of these and to no other. */
  publish(endpoints: readonly PodEndpoint[]): Promise<void>
  /** Resolves when the kernel has what was published last: at once, unless the daemon has just been started. */
  waitApplied(): Promise<void>
}

/** Resolves when the kernel knows the Service, which has no endpoints yet. */
export async function createWebService(
  api: ClusterApi,
  dialect: Dialect,
  description: ServiceDescription,
): Promise<WebService> {
  const { name } = description
  const stored = storedServiceSchema.parse(await api.apply(describeService(description)))
  const clusterIp = parseIp(stored.spec.clusterIP)
  if (clusterIp === undefined) {
    throw new UnexpectedAnswerError('unexpected-answer', `clusterIP is ${stored.spec.clusterIP}, not an IP address`, {
      object: `Service default/${name}`,
    })
  }
  await api.waitApplied('services', stored.metadata.resourceVersion)
  let published: string | undefined
  const waitApplied = async (): Promise<void> => {
    if (published !== undefined) await api.waitApplied('endpointslices', published)
  }
  return {
    name,
    hostName: `${name}.default.svc.cluster.local`,
    clusterIp,
    port: 80,
    nodePort: stored.spec.ports[0]?.nodePort,
    publish: async (endpoints) => {
      const slice = storedSchema.parse(await api.apply(describeSlice(dialect, name, endpoints)))
      published = slice.metadata.resourceVersion
      await waitApplied()
    },
    waitApplied,
  }
}
