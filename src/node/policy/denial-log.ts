import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import { describeError } from '../../model/errors.ts'
import { type Ip, parseIp } from '../../model/ip.ts'
import { fixedSets } from '../../netfilter/policy/names.ts'
import type { Logger } from '../../observe/index.ts'
import type { ClusterState } from './cluster-state.ts'
import type { ReadableSets } from './denied-counts.ts'
import { type EvaluatorOptions, PolicyEvaluator } from './evaluate.ts'
import type { DirectionVerdict, Flow, Verdict } from './verdict.ts'

export interface DenialLogParts {
  readonly families: readonly ReadableSets[]
  readonly state: ClusterState
  readonly isNodeAddress: NonNullable<EvaluatorOptions['isNodeAddress']>
  readonly intervalMs: number
  readonly log: Logger
}

interface DeniedFlow {
  readonly source: Ip
  readonly destination: Ip
  readonly protocol: Flow['protocol']
  readonly port: number
}

/** More lines than this are left out of one interval, and counted. */
const maxLines = 100

/**
 * Logs what policies deny: each source, destination and port once while packets come, with the names of the pods and the reason. The kernel
 * remembers them in a set for a minute; a packet between two readings is seen, and repeated ones are one line.
 */
export class DenialLog implements Component {
  readonly name = 'policy-denials'
  readonly #parts: DenialLogParts
  readonly #reading: Periodic
  #known: ReadonlySet<string> = new Set()
  #health: Health = { level: 'ok', message: '', sinceMs: 0 }

  constructor(parts: DenialLogParts) {
    this.#parts = parts
    this.#reading = new Periodic(() => this.#read(), {
      intervalMs: parts.intervalMs,
      onError: (error) => {
        this.#health = { level: 'degraded', message: describeError(error), sinceMs: Date.now() }
      },
    })
  }

  async start(): Promise<void> {
    this.#reading.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#reading.stop(scope)
  }

  health(): Health {
    return this.#health
  }

  async #read(): Promise<void> {
    const { families, log } = this.#parts
    const members = await Promise.all(families.map((sets) => sets.membersOf(fixedSets(sets.family).log)))
    const elements = members.flat().map(({ element }) => element)
    const fresh = elements.filter((element) => !this.#known.has(element))
    this.#known = new Set(elements)
    for (const element of fresh.slice(0, maxLines)) this.#logDenial(element)
    if (fresh.length > maxLines) log.info('more was denied', { leftOut: fresh.length - maxLines })
    if (this.#health.level !== 'ok') this.#health = { level: 'ok', message: '', sinceMs: Date.now() }
  }

  #logDenial(element: string): void {
    const { state, log, isNodeAddress } = this.#parts
    const denied = parseElement(element)
    if (denied === undefined) return
    const podAt = (address: Ip) => state.podAt(address)
    const evaluator = new PolicyEvaluator(state, { judges: 'this-node', isNodeAddress, podAt })
    const { source, destination, protocol, port } = denied
    const verdict = evaluator.judge({
      source: { address: source },
      destination: { address: destination },
      protocol,
      port,
    })
    const names = { sourcePod: podAt(source)?.key, destinationPod: podAt(destination)?.key }
    log.info('denied by policy', { source, destination, protocol, port, ...names, reason: describeDenial(verdict) })
  }
}

/** Reads `10.0.0.1,tcp:80,10.0.0.2`; undefined for any other text. */
function parseElement(element: string): DeniedFlow | undefined {
  const [, from = '', name = '', port, to = ''] = /^([^,]+),(\w[\w-]*):([^,]+),([^,]+)$/.exec(element) ?? []
  const [source, destination] = [parseIp(from), parseIp(to)]
  if (source === undefined || destination === undefined) return undefined
  const protocol = ({ tcp: 'TCP', udp: 'UDP', sctp: 'SCTP' } as const)[name] ?? 'other'
  return { source, destination, protocol, port: protocol === 'other' ? 0 : Number(port) }
}

function describeDenial({ egress, ingress }: Verdict): string {
  const reasons = [describeDirection('egress', egress), describeDirection('ingress', ingress)]
  return reasons.filter((reason) => reason !== undefined).join('; ') || 'the policies have changed since'
}

function describeDirection(direction: string, verdict: DirectionVerdict): string | undefined {
  if (verdict.isAllowed) return undefined
  if (verdict.reason === 'unknown-pod') return `${direction}: the pod is not known yet`
  return `${direction}: no rule of ${verdict.policies.map(({ policy }) => policy).join(', ')} allows it`
}
