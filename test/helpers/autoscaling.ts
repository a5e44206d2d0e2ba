import { type Autoscaler, autoscalerType } from '../../src/controllers/autoscaling/autoscaler.ts'
import { noHistory } from '../../src/controllers/autoscaling/behavior.ts'
import type { Situation } from '../../src/controllers/autoscaling/plan.ts'
import type { PodUsage } from '../../src/controllers/autoscaling/proposal.ts'
import { type Pod, podSchema } from '../../src/controllers/objects/pod.ts'
import { autoscalingDefaults } from './controller-settings.ts'

export const nowMs = Date.parse('2026-01-01T12:00:00Z')
const anHourAgo = new Date(nowMs - 3_600_000).toISOString()

export interface PodFields {
  readonly cpuMillis?: number
  readonly requestMillis?: number | undefined
  readonly phase?: string
  readonly isReady?: boolean
  readonly startedAgoMs?: number
  readonly readyAgoMs?: number
  readonly isDeleted?: boolean
}

/** A pod with a request of 100m that has been ready for an hour, unless the fields say otherwise. */
export function podOf(name: string, fields: PodFields = {}): Pod {
  const { requestMillis = 100, phase = 'Running', isReady = true, startedAgoMs, readyAgoMs, isDeleted } = fields
  const requests = 'requestMillis' in fields && fields.requestMillis === undefined ? {} : { cpu: `${requestMillis}m` }
  const ago = (ms: number | undefined) => (ms === undefined ? anHourAgo : new Date(nowMs - ms).toISOString())
  return podSchema.parse({
    metadata: {
      name,
      namespace: 'default',
      labels: { app: 'web' },
      ...(isDeleted && { deletionTimestamp: anHourAgo }),
    },
    spec: { containers: [{ name: 'c', resources: { requests } }] },
    status: {
      phase,
      startTime: ago(startedAgoMs),
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: ago(readyAgoMs) }],
    },
  })
}

/** The use of pods by name, in thousandths of a CPU; undefined has no figures. */
export function usageOf(cpuMillis: Readonly<Record<string, number | undefined>>): ReadonlyMap<string, PodUsage> {
  const known = Object.entries(cpuMillis).flatMap(([name, cpu]) => (cpu === undefined ? [] : [[name, cpu] as const]))
  return new Map(
    known.map(([name, cpu]) => [name, { atMs: nowMs, windowMs: 15_000, containers: new Map([['c', { cpu }]]) }]),
  )
}

export function autoscalerOf(spec: object, status: object = {}): Autoscaler {
  const target = { type: 'Utilization', averageUtilization: 50 }
  return autoscalerType.schema.parse({
    metadata: { name: 'web', namespace: 'default', uid: 'u', resourceVersion: '1' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      maxReplicas: 10,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
      ...spec,
    },
    status,
  })
}

/** A target of as many pods as `cpuMillis` has, each with a request of 100m and a target of 50 %. */
export function situationOf(
  cpuMillis: readonly (number | undefined)[],
  spec: object = {},
  changes: Partial<Situation> = {},
): Situation {
  const pods = cpuMillis.map((_, index) => podOf(`p${index}`))
  const named = Object.fromEntries(cpuMillis.map((cpu, index) => [`p${index}`, cpu]))
  return {
    autoscaler: autoscalerOf(spec),
    scale: { replicas: cpuMillis.length, selector: 'app=web' },
    pods,
    usage: { kind: 'usage', pods: usageOf(named) },
    selectorProblem: undefined,
    history: noHistory,
    settings: autoscalingDefaults,
    nowMs,
    ...changes,
  }
}
