import type { ObjectKey } from '../../model/api-object.ts'
import type { ClusterState } from './cluster-state.ts'

/** Pods of this node by the direction that they are isolated in; `unknown`: the network is announced, the object is not known. */
export interface IsolatedPods {
  readonly ingress: number
  readonly egress: number
  readonly unknown: number
}

export function countIsolated(state: ClusterState): IsolatedPods {
  const counts = { ingress: 0, egress: 0, unknown: 0 }
  for (const { ingress, egress, isUnknown } of isolationOfLocalPods(state)) {
    if (ingress.length > 0) counts.ingress += 1
    if (egress.length > 0) counts.egress += 1
    if (isUnknown) counts.unknown += 1
  }
  return counts
}

export interface PodIsolation {
  readonly pod: ObjectKey
  /** The policies that isolate it, by direction. */
  readonly ingress: readonly ObjectKey[]
  readonly egress: readonly ObjectKey[]
  readonly isUnknown: boolean
}

export function isolationOfLocalPods(state: ClusterState): readonly PodIsolation[] {
  return Array.from(state.localPods(), ({ key, isUnknown }) => ({
    pod: key,
    ingress: state.isolating(key, 'ingress'),
    egress: state.isolating(key, 'egress'),
    isUnknown: isUnknown === true,
  }))
}
