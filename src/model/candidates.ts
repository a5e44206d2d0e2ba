import type { Endpoint, EndpointSlice } from './endpoint-slice.ts'
import { renderAddressPort } from './ip.ts'
import type { ServicePort } from './service.ts'

/** An endpoint that a Service port may be sent to. */
export interface Candidate {
  /** `address:port`, which identifies it. */
  readonly name: string
  readonly port: number
  readonly endpoint: Endpoint
}

/**
 * One candidate for each `address:port`, in lexical order; the slices' ports are matched by name and protocol. With
 * `publishNotReady` every endpoint counts as ready, as the API asks of every reader of that field.
 */
export function collectCandidates(
  wanted: Pick<ServicePort, 'name' | 'protocol'>,
  slices: readonly EndpointSlice[],
  publishNotReady: boolean,
): readonly Candidate[] {
  const candidates: Candidate[] = []
  for (const slice of slices) {
    for (const { name, protocol, port } of slice.ports) {
      if (name !== wanted.name || protocol !== wanted.protocol) continue
      for (const endpoint of slice.endpoints)
        candidates.push({
          name: renderAddressPort(endpoint.address, port),
          port,
          endpoint: publishNotReady ? { ...endpoint, ready: true } : endpoint,
        })
    }
  }
  return withoutDoubles(candidates.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))))
}

/**
 * Keeps the first of the highest rank. An address stands in two slices while a pod moves between them, or while a new pod takes over the
 * address of one that is going.
 */
function withoutDoubles(sorted: readonly Candidate[]): readonly Candidate[] {
  if (sorted.every(({ name }, index) => name !== sorted[index - 1]?.name)) return sorted
  const kept: Candidate[] = []
  for (const candidate of sorted) {
    const known = kept.at(-1)
    if (known?.name !== candidate.name) kept.push(candidate)
    else if (rank(candidate.endpoint) > rank(known.endpoint)) kept[kept.length - 1] = candidate
  }
  return kept
}

/**
 * Ranks entries with one address: not terminating first, then ready; the other fields make the result independent of
 * the order of slices.
 */
function rank({ terminating, ready, serving, nodeName = '', hints }: Endpoint): string {
  return [!terminating, ready, serving].map(Number).join('') + nodeName + JSON.stringify(hints ?? '')
}

/**
 * Chooses the preferred candidates that are ready; where none is, those that are going but still answer, so that a rollout never
 * refuses connections.
 */
export function selectAnswering(
  candidates: readonly Candidate[],
  isPreferred: (candidate: Candidate) => boolean = () => true,
): readonly Candidate[] {
  const ready = candidates.filter((candidate) => candidate.endpoint.ready && isPreferred(candidate))
  return ready.length > 0 ? ready : candidates.filter(({ endpoint }) => endpoint.serving && endpoint.terminating)
}

/** Explains in a clause why no candidate for a port answers. */
export function whyNoneAnswers(
  { name, protocol }: Pick<ServicePort, 'name' | 'protocol'>,
  slices: readonly EndpointSlice[],
): string {
  if (slices.length === 0) return 'no EndpointSlice belongs to it; its selector may match no pod'
  if (slices.every(({ endpoints }) => endpoints.length === 0))
    return 'its EndpointSlices are empty; its selector may match no pod'
  const has = slices.flatMap(({ ports }) => ports.map((each) => describePort(each.name, each.protocol)))
  const wanted = describePort(name, protocol)
  if (has.includes(wanted)) return 'none of its endpoints is ready, and none that terminates still serves'
  const others = has.length === 0 ? '' : `, only a ${[...new Set(has)].join(', a ')}`
  return `its EndpointSlices have no ${wanted}${others}; no pod may have a port of the name that targetPort says`
}

function describePort(name: string, protocol: string): string {
  return `${protocol} port ${name === '' ? 'without a name' : `"${name}"`}`
}
