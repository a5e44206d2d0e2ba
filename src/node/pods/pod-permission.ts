import type { Dialect } from '../../model/dialect.ts'
import type { PodSpec } from './pod-spec.ts'

export type Labels = Readonly<Record<string, string>>

/** The two permissions that a pod needs to run on this node: of the node's operator by an option, of the namespace by its labels. */
export interface PodPermission {
  /** The value of `--run-pods`. */
  readonly isOn: boolean
  /** Returns the labels of a namespace; undefined while they are unknown. */
  readonly labelsOf: (namespace: string) => Labels | undefined
}

/** The reasons in container states and in Events. */
export type DenialReason = 'PodsNotEnabled' | 'NamespaceNotRead' | 'NamespaceNotEnabled' | 'HostNetworkNotEnabled'

/** The reason why no container of a pod may start now. */
export interface Denial {
  readonly reason: DenialReason
  readonly message: string
}

/** Returns why no container of the pod may start now; undefined if they may. Running containers go on. Pure. */
export function findDenial(pod: PodSpec, { isOn, labelsOf }: PodPermission, dialect: Dialect): Denial | undefined {
  if (!isOn) {
    const message =
      'this node runs no pods: its agent must be started with --run-pods (or without the component pods, beside a kubelet)'
    return { reason: 'PodsNotEnabled', message }
  }
  const { namespace, spec } = pod
  const labels = labelsOf(namespace)
  if (labels === undefined)
    return { reason: 'NamespaceNotRead', message: `the labels of the namespace ${namespace} are not known yet` }
  const { runPods, hostNetworkPods } = dialect.labels
  const missing = (label: string, why: string) =>
    `the namespace ${namespace} has no label ${label}=true: ${why}; an administrator of the namespace allows it with "kubectl label namespace ${namespace} ${label}=true"`
  if (labels[runPods] !== 'true') {
    const message = missing(runPods, 'its pods would run programs of this node as processes of this node')
    return { reason: 'NamespaceNotEnabled', message }
  }
  const hasHostPort = spec.containers.some(({ ports }) => ports.some(({ hostPort }) => hostPort > 0))
  if (!(spec.hostNetwork || hasHostPort) || labels[hostNetworkPods] === 'true') return undefined
  const asked = spec.hostNetwork ? 'hostNetwork' : 'hostPort'
  const message = missing(hostNetworkPods, `${asked} takes addresses and ports of this node`)
  return { reason: 'HostNetworkNotEnabled', message }
}
