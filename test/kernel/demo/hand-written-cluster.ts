import { z } from 'zod'
import type { AppliedResource, ClusterApi } from '../../../src/demo/cluster-api.ts'
import { runProgram } from '../../../src/host/index.ts'
import type { ApiObject } from '../../../src/model/api-object.ts'

const serviceSchema = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({ sessionAffinity: z.string(), ports: z.array(z.object({ port: z.number() })) }),
})
const sliceSchema = z.object({
  metadata: z.object({ labels: z.record(z.string(), z.string()) }),
  ports: z.array(z.object({ port: z.number() })),
  endpoints: z.array(z.object({ addresses: z.array(z.string()), conditions: z.object({ ready: z.boolean() }) })),
})

const policySchema = z.object({ spec: z.object({ ingress: z.array(z.unknown()) }) })

const hostNameEnd = '.default.svc.cluster.local'

interface KnownService {
  readonly clusterIp: string
  readonly nodePort: number
  readonly sticky: boolean
  readonly endpoints: readonly string[]
}

/** A cluster without a server: every object becomes rules at once, the tables written anew each time. */
export class HandWrittenCluster implements ClusterApi {
  readonly #services = new Map<string, KnownService>()
  /** By name, whether it allows the pods. */
  readonly #policies = new Map<string, boolean>()
  #revision = 0

  async apply(object: ApiObject): Promise<ApiObject> {
    this.#revision += 1
    const resourceVersion = String(this.#revision)
    const stored = this.#store(object)
    await this.#writeRules()
    return { ...stored, metadata: { ...object.metadata, resourceVersion } }
  }

  async remove({ metadata }: ApiObject): Promise<void> {
    this.#policies.delete(metadata.name)
    await this.#writeRules()
  }

  async explain(): Promise<readonly string[]> {
    const allowing = [...this.#policies].find(([, allows]) => allows)?.[0]
    if (allowing !== undefined) return [`policy default/${allowing} allows it`]
    return [...this.#policies.keys()].map((name) => `denied: default/${name} has no ingress rules`)
  }

  async waitApplied(_resource: AppliedResource, _resourceVersion: string): Promise<void> {}

  /** The address of the Service with that name in the cluster's DNS. */
  addressOf(hostName: string): string | undefined {
    return this.#services.get(hostName.replace(hostNameEnd, ''))?.clusterIp
  }

  /** The name of the Service with that address. */
  hostNameOf(address: string): string | undefined {
    const found = [...this.#services].find(([, { clusterIp }]) => clusterIp === address)
    return found && `${found[0]}${hostNameEnd}`
  }

  #store(object: ApiObject): ApiObject {
    if (object.kind === 'Service') return this.#addService(object)
    if (object.kind === 'EndpointSlice') return this.#setEndpoints(object)
    this.#policies.set(object.metadata.name, policySchema.parse(object).spec.ingress.length > 0)
    return object
  }

  #addService(object: ApiObject): ApiObject {
    const { metadata, spec } = serviceSchema.parse(object)
    const clusterIp = `10.96.0.${100 + this.#services.size}`
    const nodePort = 30_100 + this.#services.size
    const sticky = spec.sessionAffinity === 'ClientIP'
    this.#services.set(metadata.name, { clusterIp, nodePort, sticky, endpoints: [] })
    return { ...object, spec: { ...spec, clusterIP: clusterIp, ports: [{ port: 80, nodePort }] } }
  }

  #setEndpoints(object: ApiObject): ApiObject {
    const { metadata, ports, endpoints } = sliceSchema.parse(object)
    const name = metadata.labels['platform.internal/service-name'] ?? ''
    const service = this.#services.get(name)
    if (service === undefined) throw new Error(`no Service ${name}`)
    const ready = endpoints.filter((endpoint) => endpoint.conditions.ready)
    const addresses = ready.map((endpoint) => `${endpoint.addresses[0]}:${ports[0]?.port}`)
    this.#services.set(name, { ...service, endpoints: addresses })
    return object
  }

  #policyRules(): string[] {
    if (this.#policies.size === 0) return []
    const news = '-p tcp --dport 8080 -m conntrack --ctstate NEW'
    const allowsPods = [...this.#policies.values()].some((allows) => allows)
    return [
      ...(allowsPods ? [`-A FORWARD -s 10.244.0.0/24 ${news} -j ACCEPT`] : []),
      `-A FORWARD -d 10.244.0.0/24 ${news} -j DROP`,
    ]
  }

  async #writeRules(): Promise<void> {
    const services = [...this.#services]
    const nat = services.flatMap(([name, service]) => [...dispatch(name, service), ...endpointRules(name, service)])
    const rejects = services.flatMap(([, service]) => rejectRules(service))
    const chains = services.flatMap(([name, { endpoints }]) => [
      `SVC-${name}`,
      ...endpoints.map((_, i) => `SEP-${name}-${i}`),
    ])
    const lines = [
      '*nat',
      ':PLAT-SERVICES -',
      ':PREROUTING ACCEPT',
      ':POSTROUTING ACCEPT',
      ...chains.map((c) => `:${c} -`),
    ]
    lines.push(
      '-A PREROUTING -j PLAT-SERVICES',
      ...nat,
      '-A POSTROUTING -s 192.0.2.0/24 -o plt0 -j MASQUERADE',
      // Between pods the answer has to come back this way, too.
      '-A POSTROUTING -s 10.244.0.0/24 -o plt0 -j MASQUERADE',
      'COMMIT',
    )
    lines.push('*filter', ':FORWARD ACCEPT', ...rejects, ...this.#policyRules(), 'COMMIT', '')
    await runProgram('iptables-restore', [], { input: lines.join('\n'), timeoutMs: 5000 })
  }
}

function dispatch(name: string, { clusterIp, nodePort }: KnownService): string[] {
  return [
    `-A PLAT-SERVICES -d ${clusterIp}/32 -p tcp --dport 80 -j SVC-${name}`,
    `-A PLAT-SERVICES -d 192.0.2.1/32 -p tcp --dport ${nodePort} -j SVC-${name}`,
  ]
}

function endpointRules(name: string, { endpoints, sticky }: KnownService): string[] {
  const recent = (chain: string): string => `-m recent --name ${chain}`
  const chains = endpoints.map((_, index) => `SEP-${name}-${index}`)
  return [
    ...(sticky
      ? chains.map((chain) => `-A SVC-${name} ${recent(chain)} --rcheck --seconds 60 --reap -j ${chain}`)
      : []),
    ...chains.map((chain, index) => {
      const probability = (1 / (endpoints.length - index)).toFixed(10)
      return `-A SVC-${name} -m statistic --mode random --probability ${probability} -j ${chain}`
    }),
    ...chains.map((chain, index) => {
      return `-A ${chain} -p tcp ${sticky ? `${recent(chain)} --set` : ''} -j DNAT --to-destination ${endpoints[index]}`
    }),
  ]
}

function rejectRules({ clusterIp, endpoints }: KnownService): string[] {
  return endpoints.length > 0 ? [] : [`-A FORWARD -d ${clusterIp}/32 -p tcp --dport 80 -j REJECT`]
}
