import { z } from 'zod'
import { selectorSchema } from '../objects/parts.ts'
import type { Pod } from '../objects/pod.ts'
import { tolerationSchema } from '../objects/tolerations.ts'
import { optional, otherwise } from '../runtime/metadata.ts'

/** The scheduling requirements in a pod's spec. */

const nodeExpression = z.looseObject({
  key: z.string(),
  operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']),
  values: otherwise(z.array(z.string()), []),
})

const nodeTerm = z.looseObject({
  matchExpressions: otherwise(z.array(nodeExpression), []),
  matchFields: otherwise(z.array(nodeExpression), []),
})

export const nodeTerms = z.array(nodeTerm)

/** Selects pods by labels. The values of `matchLabelKeys` come from the pod that has the term. */
const podSelection = {
  labelSelector: optional(selectorSchema),
  matchLabelKeys: otherwise(z.array(z.string()), []),
}

const podTerm = z.looseObject({
  ...podSelection,
  mismatchLabelKeys: otherwise(z.array(z.string()), []),
  topologyKey: z.string(),
  namespaces: otherwise(z.array(z.string()), []),
  namespaceSelector: optional(selectorSchema),
})

const podAffinity = z.looseObject({
  requiredDuringSchedulingIgnoredDuringExecution: otherwise(z.array(podTerm), []),
  preferredDuringSchedulingIgnoredDuringExecution: otherwise(
    z.array(z.looseObject({ weight: z.number(), podAffinityTerm: podTerm })),
    [],
  ),
})
const noPodAffinity = {
  requiredDuringSchedulingIgnoredDuringExecution: [],
  preferredDuringSchedulingIgnoredDuringExecution: [],
}

const nodeAffinity = z.looseObject({
  requiredDuringSchedulingIgnoredDuringExecution: optional(z.looseObject({ nodeSelectorTerms: nodeTerms })),
  preferredDuringSchedulingIgnoredDuringExecution: otherwise(
    z.array(z.looseObject({ weight: z.number(), preference: nodeTerm })),
    [],
  ),
})
const noNodeAffinity = {
  requiredDuringSchedulingIgnoredDuringExecution: undefined,
  preferredDuringSchedulingIgnoredDuringExecution: [],
}
const noAffinity = { nodeAffinity: noNodeAffinity, podAffinity: noPodAffinity, podAntiAffinity: noPodAffinity }

const amounts = otherwise(z.record(z.string(), z.union([z.string(), z.number()])), {})

const container = z.looseObject({
  restartPolicy: otherwise(z.string(), ''),
  resources: otherwise(z.looseObject({ requests: amounts }), { requests: {} }),
  ports: otherwise(
    z.array(
      z.looseObject({
        hostPort: otherwise(z.number(), 0),
        hostIP: otherwise(z.string(), ''),
        protocol: otherwise(z.string(), 'TCP'),
      }),
    ),
    [],
  ),
})

const spreadConstraint = z.looseObject({
  maxSkew: z.number(),
  topologyKey: z.string(),
  whenUnsatisfiable: z.enum(['DoNotSchedule', 'ScheduleAnyway']),
  ...podSelection,
  minDomains: otherwise(z.number(), 1),
  nodeAffinityPolicy: otherwise(z.enum(['Honor', 'Ignore']), 'Honor'),
  nodeTaintsPolicy: otherwise(z.enum(['Honor', 'Ignore']), 'Ignore'),
})

const requirementsSchema = z.looseObject({
  nodeSelector: otherwise(z.record(z.string(), z.string()), {}),
  affinity: otherwise(
    z.looseObject({
      nodeAffinity: otherwise(nodeAffinity, noNodeAffinity),
      podAffinity: otherwise(podAffinity, noPodAffinity),
      podAntiAffinity: otherwise(podAffinity, noPodAffinity),
    }),
    noAffinity,
  ),
  tolerations: otherwise(z.array(tolerationSchema), []),
  containers: otherwise(z.array(container), []),
  initContainers: otherwise(z.array(container), []),
  overhead: amounts,
  topologySpreadConstraints: otherwise(z.array(spreadConstraint), []),
})

export type Requirements = z.output<typeof requirementsSchema>
export type NodeTerm = z.output<typeof nodeTerm>
export type PodTerm = z.output<typeof podTerm>
export type SpreadConstraint = z.output<typeof spreadConstraint>
export type Amounts = z.output<typeof amounts>

/** Parses the scheduling requirements of a pod. Throws ZodError with the path of the field if the spec is invalid. */
export function requirementsOf(spec: Pod['spec']): Requirements {
  return requirementsSchema.parse(spec)
}
