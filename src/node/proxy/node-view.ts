import { z } from 'zod'
import { type Cidr, type Ip, parseCidr, parseIp } from '../../model/ip.ts'

/** What the proxy has to know of its own Node object. */
export interface NodeView {
  /** The addresses by which other nodes reach it. */
  readonly ips: readonly Ip[]
  readonly zone: string | undefined
  /** Its parts of the pod networks. */
  readonly podCidrs: readonly Cidr[]
  /** Load balancers are to send nothing here any more: the node is being deleted, or the autoscaler has chosen it for that. */
  readonly isLeaving: boolean
}

const nodeSchema = z.object({
  metadata: z.object({
    labels: z.record(z.string(), z.string()).nullish(),
    deletionTimestamp: z.string().nullish(),
  }),
  spec: z
    .object({
      podCIDR: z.string().nullish(),
      podCIDRs: z.array(z.string()).nullish(),
      taints: z.array(z.looseObject({ key: z.string() })).nullish(),
    })
    .nullish(),
  status: z
    .object({ addresses: z.array(z.looseObject({ type: z.string(), address: z.string() })).nullish() })
    .nullish(),
})

const autoscalerTaint = 'ToBeDeletedByClusterAutoscaler'

/** Undefined where the object is none that can be used; of a usable one, single values that make no sense are left out. */
export function readNodeView(object: unknown, zoneLabel: string): NodeView | undefined {
  const parsed = nodeSchema.safeParse(object)
  if (!parsed.success) return undefined
  const { metadata, spec, status } = parsed.data
  const addresses = status?.addresses ?? []
  const podCidrs = spec?.podCIDRs ?? (spec?.podCIDR ? [spec.podCIDR] : [])
  return {
    ips: addresses.flatMap(({ type, address }) => (type === 'InternalIP' ? (parseIp(address) ?? []) : [])),
    zone: metadata.labels?.[zoneLabel] || undefined,
    podCidrs: podCidrs.flatMap((text) => parseCidr(text) ?? []),
    isLeaving: Boolean(metadata.deletionTimestamp) || (spec?.taints ?? []).some(({ key }) => key === autoscalerTaint),
  }
}
