import { z } from 'zod'
import { isObject, type JsonObject, objectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import type { AppliedRevisions, LiveNodeState } from '../state/index.ts'
import { parseResult } from './parse-result.ts'

/** The request of `cni/platnet-gate`: its CNI variables and its input. */
export interface GateRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  /** Aborts when the plugin disconnects. */
  readonly signal: AbortSignal
}

/** The answer to the gate: 200 lets the container start; the body of any other status is the reason in one line. */
export interface GateAnswer {
  readonly status: 200 | 400 | 504
  readonly body: string
}

export interface GateParts {
  readonly state: Pick<LiveNodeState, 'announcePod' | 'withdrawPod'>
  readonly applied: Pick<AppliedRevisions, 'waitUntilPodApplied' | 'report'>
  readonly metrics: GateMetrics
  readonly log: Logger
}

export interface GateMetrics {
  observeWait(seconds: number, outcome: 'applied' | 'late'): void
}

const headersSchema = z.object({
  'x-cni-command': z.enum(['ADD', 'DEL', 'CHECK', 'STATUS', 'GC']),
  'x-cni-containerid': z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'expected a container id')
    .or(z.literal('')),
  'x-cni-args': z.string().default(''),
  'x-timeout-ms': z.coerce.number().int().min(0).max(600_000).default(9000),
})

/**
 * Answers platnet-gate in the agent: an ADD waits until every plane has applied the pod's addresses, so that no packet of the
 * container passes before its isolation, its Services and its names are in place.
 */
export class CniGate {
  readonly #parts: GateParts

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  async answer(request: GateRequest): Promise<GateAnswer> {
    const headers = headersSchema.safeParse(request.headers)
    if (!headers.success) return { status: 400, body: z.prettifyError(headers.error) }
    const { 'x-cni-command': command, 'x-cni-containerid': containerId } = headers.data
    if (command === 'DEL') this.#parts.state.withdrawPod(containerId)
    if (command !== 'ADD') return { status: 200, body: '' }
    const timeout = AbortSignal.timeout(headers.data['x-timeout-ms'])
    const signal = AbortSignal.any([request.signal, timeout])
    try {
      this.#announce(containerId, headers.data['x-cni-args'], request.body)
    } catch (error) {
      return { status: 400, body: describeError(error) }
    }
    return this.#wait(containerId, signal)
  }

  #announce(containerId: string, cniArgs: string, body: string): void {
    const config: unknown = JSON.parse(body)
    const result = isObject(config as JsonObject) ? (config as JsonObject)['prevResult'] : undefined
    if (containerId === '' || !isObject(result)) throw new Error('expected a container id and a prevResult')
    const args = new Map(cniArgs.split(';').map((pair) => splitOnce(pair)))
    const key = objectKey(args.get('K8S_POD_NAMESPACE') ?? '', args.get('K8S_POD_NAME') ?? '')
    const ips = parseResult(result, 'prevResult').ips.map(({ ip }) => ip)
    this.#parts.state.announcePod({ key, uid: args.get('K8S_POD_UID') ?? '', containerId, ips })
  }

  async #wait(containerId: string, signal: AbortSignal): Promise<GateAnswer> {
    const { applied, metrics, log } = this.#parts
    const startedMs = performance.now()
    const waitedSeconds = () => (performance.now() - startedMs) / 1000
    try {
      await applied.waitUntilPodApplied(containerId, { signal })
      metrics.observeWait(waitedSeconds(), 'applied')
      return { status: 200, body: '' }
    } catch (error) {
      if (!signal.aborted) throw error
      const { revision, planes } = applied.report()
      const late = Object.keys(planes).filter((plane) => (planes[plane] ?? 0) < revision)
      const reason =
        revision === 0 ? 'the agent has not listed the cluster yet' : `not applied yet by: ${late.join(', ')}`
      metrics.observeWait(waitedSeconds(), 'late')
      log.warn('a pod waited too long for its network rules', { containerId, reason })
      return { status: 504, body: reason }
    }
  }
}

function splitOnce(pair: string): [string, string] {
  const at = pair.indexOf('=')
  return [pair.slice(0, Math.max(at, 0)), pair.slice(at + 1)]
}
