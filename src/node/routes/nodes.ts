import { z } from 'zod'
import { parseCidr, parseIp } from '../../model/ip.ts'
import type { NetworkNode } from './plan.ts'

const nodeSchema = z.object({
  metadata: z.object({ name: z.string(), uid: z.string().nullish(), creationTimestamp: z.string().nullish() }),
  spec: z.object({ podCIDR: z.string().nullish(), podCIDRs: z.array(z.string()).nullish() }).nullish(),
  status: z.object({ addresses: z.array(z.object({ type: z.string(), address: z.string() })).nullish() }).nullish(),
})

/** A Node of the API as routes need it; what is no address or network is left out. Undefined for what is no Node. */
export function parseNode(json: unknown): NetworkNode | undefined {
  const parsed = nodeSchema.safeParse(json)
  if (!parsed.success) return undefined
  const { metadata, spec, status } = parsed.data
  const networks = spec?.podCIDRs ?? (spec?.podCIDR == null ? [] : [spec.podCIDR])
  const createdAtMs = Date.parse(metadata.creationTimestamp ?? '')
  const addresses = (status?.addresses ?? []).filter(({ type }) => type === 'InternalIP')
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    createdAtMs: Number.isNaN(createdAtMs) ? Number.POSITIVE_INFINITY : createdAtMs,
    ips: addresses.map(({ address }) => parseIp(address)).filter((ip) => ip !== undefined),
    podCidrs: [...new Set(networks.map(parseCidr).filter((cidr) => cidr !== undefined))],
  }
}
