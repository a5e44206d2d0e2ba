import type { Endpoint, EndpointSlice } from '../../model/endpoint-slice.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { ServicePort } from '../../model/service.ts'
import type { Frontend, FrontendEndpoint } from '../../netfilter/frontend.ts'
import { renderAddressPort } from '../../netfilter/render.ts'

/** An endpoint that a Service port may be sent to. */
export interface Candidate {
  /** `address:port`, which identifies it. */
  readonly name: string
  readonly port: number
  readonly endpoint: Endpoint
}

/** The node for which endpoints are chosen: endpoints on it are local, and hints name nodes and zones. */
export interface NodeTopology {
  readonly nodeName: string
  readonly zone?: string
}

/**
 * One candidate for each `address:port`, in lexical order; the slices' ports are matched by name and protocol. With
 * `publishNotReady` every endpoint counts as ready, as the API asks of every reader of that field.
 */
export function collectEndpoints(
  wanted: ServicePort,
  slices: readonly EndpointSlice[],
  family: IpFamily,
  publishNotReady: boolean,
): readonly Candidate[] {
  const candidates = new Map<string, Candidate>()
  for (const slice of slices.filter((each) => each.family === family && each.namesOnly !== true)) {
    for (const { port } of slice.ports.filter(
      (each) => each.name === wanted.name && each.protocol === wanted.protocol,
    )) {
      for (const endpoint of slice.endpoints)
        addCandidate(candidates, publishNotReady ? { ...endpoint, ready: true } : endpoint, port)
    }
  }
  return [...candidates.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** An address stands in two slices while a pod moves between them, or while a new pod takes over the address of one that is going. */
function addCandidate(candidates: Map<string, Candidate>, endpoint: Endpoint, port: number): void {
  const name = renderAddressPort(endpoint.address, port)
  const known = candidates.get(name)
  if (known === undefined || rank(endpoint) > rank(known.endpoint)) candidates.set(name, { name, port, endpoint })
}

/**
 * Ranks entries with one address: not terminating first, then ready; the other fields make the result independent of
 * the order of slices.
 */
function rank({ terminating, ready, serving, nodeName = '', hints }: Endpoint): string {
  return [!terminating, ready, serving].map(Number).join('') + nodeName + JSON.stringify(hints ?? '')
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
    hasEndpoints: candidates.some((candidate) => isReady(candidate) || isGoingButServing(candidate)),
    clusterEndpoints: wanted.cluster ? preferReady(candidates, isHinted) : [],
    localEndpoints: wanted.local ? preferReady(candidates.filter(isLocal), () => true) : [],
  }
}

function preferReady(
  candidates: readonly Candidate[],
  isPreferred: (candidate: Candidate) => boolean,
): readonly FrontendEndpoint[] {
  const ready = candidates.filter((candidate) => isReady(candidate) && isPreferred(candidate))
  const chosen = ready.length > 0 ? ready : candidates.filter(isGoingButServing)
  return chosen.map(({ endpoint, port }) => ({ address: endpoint.address, port }))
}

/**
 * Hints count only where every ready endpoint has one and one at least is meant for us; else all endpoints are used. Those
 * for nodes come before those for zones (KEP-3015, KEP-2433).
 */
function followHints(
  candidates: readonly Candidate[],
  { nodeName, zone }: NodeTopology,
): (candidate: Candidate) => boolean {
  const ready = candidates.filter(isReady)
  const isForNode = ({ endpoint }: Candidate) => endpoint.hints?.nodes.includes(nodeName) ?? false
  const isForZone = ({ endpoint }: Candidate) => zone !== undefined && (endpoint.hints?.zones.includes(zone) ?? false)
  const allName = (kind: 'nodes' | 'zones') => ready.every(({ endpoint }) => (endpoint.hints?.[kind].length ?? 0) > 0)
  if (allName('nodes') && ready.some(isForNode)) return isForNode
  if (allName('zones') && ready.some(isForZone)) return isForZone
  return () => true
}

function isReady({ endpoint }: Candidate): boolean {
  return endpoint.ready
}

function isGoingButServing({ endpoint }: Candidate): boolean {
  return endpoint.serving && endpoint.terminating
}
