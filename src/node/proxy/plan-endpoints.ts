import { type Candidate, collectCandidates, selectAnswering } from '../../model/candidates.ts'
import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { ServicePort } from '../../model/service.ts'
import type { Frontend, FrontendEndpoint } from '../../netfilter/frontend.ts'

/** The node for which endpoints are chosen: endpoints on it are local, and hints name nodes and zones. */
export interface NodeTopology {
  readonly nodeName: string
  readonly zone?: string
}

/** The candidates of one family, without slices that are there for names only. */
export function collectEndpoints(
  wanted: ServicePort,
  slices: readonly EndpointSlice[],
  family: IpFamily,
  publishNotReady: boolean,
): readonly Candidate[] {
  const served = slices.filter((slice) => slice.family === family && slice.namesOnly !== true)
  return collectCandidates(wanted, served, publishNotReady)
}

/**
 * The endpoints for each traffic policy that is asked for. Cluster: the ready ones that hints leave to this node. Local:
 * the ready ones on this node. Where none is ready, those that are going but still answer, so that a rollout never refuses
 * connections; each policy falls back by itself, and hints do not count then.
 */
export function selectEndpoints(
  candidates: readonly Candidate[],
  node: NodeTopology,
  wanted: { readonly cluster: boolean; readonly local: boolean },
): Pick<Frontend, 'hasEndpoints' | 'clusterEndpoints' | 'localEndpoints'> {
  const isHinted = wanted.cluster ? followHints(candidates, node) : () => true
  const isLocal = ({ endpoint }: Candidate) => endpoint.nodeName === node.nodeName
  return {
    hasEndpoints: selectAnswering(candidates).length > 0,
    clusterEndpoints: wanted.cluster ? preferReady(candidates, isHinted) : [],
    localEndpoints: wanted.local ? preferReady(candidates.filter(isLocal), () => true) : [],
  }
}

function preferReady(
  candidates: readonly Candidate[],
  isPreferred: (candidate: Candidate) => boolean,
): readonly FrontendEndpoint[] {
  return selectAnswering(candidates, isPreferred).map(({ endpoint, port }) => ({ address: endpoint.address, port }))
}

/**
 * Hints count only where every ready endpoint has one and one at least is meant for us; else all endpoints are used. Those
 * for nodes come before those for zones (KEP-3015, KEP-2433).
 */
function followHints(
  candidates: readonly Candidate[],
  { nodeName, zone }: NodeTopology,
): (candidate: Candidate) => boolean {
  const ready = candidates.filter(({ endpoint }) => endpoint.ready)
  const isForNode = ({ endpoint }: Candidate) => endpoint.hints?.nodes.includes(nodeName) ?? false
  const isForZone = ({ endpoint }: Candidate) => zone !== undefined && (endpoint.hints?.zones.includes(zone) ?? false)
  const allName = (kind: 'nodes' | 'zones') => ready.every(({ endpoint }) => (endpoint.hints?.[kind].length ?? 0) > 0)
  if (allName('nodes') && ready.some(isForNode)) return isForNode
  if (allName('zones') && ready.some(isForZone)) return isForZone
  return () => true
}
