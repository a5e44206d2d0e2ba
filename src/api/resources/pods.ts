import type { JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, listAt, textAt } from '../document.ts'
import { builtInSchema, overlaySchema } from '../schema/built-in-schema.ts'
import { object, type Schema } from '../schema/schema.ts'
import { markDeleted } from './metadata.ts'
import { validateMirrorPod, validateMirrorPodUpdate } from './mirror-pod.ts'
import { gatedReason, podColumns } from './pod-columns.ts'
import { ephemeralContainers, resize } from './pod-parts.ts'
import { keepPriority } from './pod-priority.ts'
import { completePodSpec, podSpecDefaults } from './pod-spec/pod-defaults.ts'
import { validatePodUpdate } from './pod-spec/pod-update-rules.ts'
import { qosClassOf } from './pod-spec/qos-class.ts'
import { validateNewPod, validatePod } from './pod-validation.ts'
import type { PartWrite, Resource, Strategy } from './resource.ts'

const defaults: Schema = object({ spec: podSpecDefaults, status: { default: {} } })

interface PodAdmission extends Pick<Strategy, 'admit' | 'guard'> {
  readonly admitResize?: PartWrite['admit']
}

export function pods(dialect: Dialect, { admitResize, ...admission }: PodAdmission = {}): Resource {
  return {
    group: '',
    version: 'v1',
    kind: 'Pod',
    plural: 'pods',
    singular: 'pod',
    shortNames: ['po'],
    categories: ['all'],
    namespaced: true,
    subresources: ['status', 'binding', 'ephemeralcontainers', 'eviction', 'resize'],
    connects: ['attach', 'exec', 'log', 'portforward', 'proxy'],
    schema: overlaySchema(builtInSchema('', 'v1', 'Pod'), defaults),
    countsGeneration: true,
    selectableFields: {
      'spec.nodeName': (pod) => textAt(pod['spec'], 'nodeName'),
      'spec.restartPolicy': (pod) => textAt(pod['spec'], 'restartPolicy'),
      'spec.schedulerName': (pod) => textAt(pod['spec'], 'schedulerName'),
      'spec.serviceAccountName': (pod) => textAt(pod['spec'], 'serviceAccountName'),
      'spec.hostNetwork': (pod) => textAt(pod['spec'], 'hostNetwork') || 'false',
      'status.phase': (pod) => textAt(pod['status'], 'phase'),
      'status.podIP': (pod) => textAt(pod['status'], 'podIP'),
      'status.nominatedNodeName': (pod) => textAt(pod['status'], 'nominatedNodeName'),
    },
    columns: podColumns,
    strategy: {
      prepareForCreate: (pod) => withFirstStatus(complete(pod)),
      ...admission,
      prepareForUpdate: (pod, old) => keepPriority(complete(pod), old),
      statusLeaves: ['ownerReferences'],
      validate: (pod, old) => [
        ...validatePod(pod, dialect),
        ...validateMirrorPod(pod, dialect),
        ...(old === undefined ? validateNewPod(pod) : []),
      ],
      validateUpdate: (pod, old) => [...validatePodUpdate(pod, old), ...validateMirrorPodUpdate(pod, old, dialect)],
      parts: { ephemeralcontainers: ephemeralContainers(dialect), resize: resize(dialect, admitResize) },
      graceSeconds,
      showDeleted: (pod, now) => markDeleted(pod, 0, now),
    },
  }
}

function complete(pod: ApiDocument): ApiDocument {
  return { ...pod, spec: completePodSpec(pod['spec'], 'pod') }
}

function withFirstStatus(pod: ApiDocument): ApiDocument {
  const status = { phase: 'Pending', ...gatedConditions(pod), qosClass: qosClassOf(pod['spec']) }
  return { ...pod, status }
}

/** Returns the condition of a gated Pod at its creation, because the scheduler ignores such a Pod. */
function gatedConditions(pod: ApiDocument): JsonObject {
  if (listAt(pod['spec'], 'schedulingGates').length === 0) return {}
  const message = 'Scheduling is blocked due to non-empty scheduling gates'
  const times = { lastProbeTime: null, lastTransitionTime: pod.metadata.creationTimestamp ?? null }
  return { conditions: [{ type: 'PodScheduled', status: 'False', ...times, reason: gatedReason, message }] }
}

const defaultGraceSeconds = 30

/**
 * Returns the grace period in seconds. A Pod without a node, or whose containers have ended, is deleted at once; any
 * other waits for its node.
 */
function graceSeconds(pod: ApiDocument, asked: number | undefined): number {
  const isOver = ['Succeeded', 'Failed'].includes(textAt(pod['status'], 'phase'))
  if (isOver || textAt(pod['spec'], 'nodeName') === '') return 0
  const own = Number(textAt(pod['spec'], 'terminationGracePeriodSeconds') || defaultGraceSeconds)
  const seconds = asked ?? own
  return seconds < 0 ? 1 : seconds
}
