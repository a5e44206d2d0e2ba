import type { Dialect } from '../../model/dialect.ts'
import type { PodSpec } from './pod-spec.ts'

export type Labels = Readonly<Record<string, string>>

/** Two parties decide whether pods run on this node: its operator by an option, and who may change a namespace by labels of it. */
export interface PodPermission {
  /** What `--run-pods` says. */
  readonly isOn: boolean
  /** Labels of a namespace; undefined while they are not known. */
  readonly labelsOf: (namespace: string) => Labels | undefined
}

/** In CamelCase, as reasons of container states and of Events are. */
export type DenialReason = 'PodsNotEnabled' | 'NamespaceNotRead' | 'NamespaceNotEnabled' | 'HostNetworkNotEnabled'

export interface Denial {
  readonly reason: DenialReason
  readonly message: string
}

/** Why no container of the pod is started now; undefined where they may be. Those that run go on. Pure. */
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
  const lack = (label: string, why: string) =>
    `the namespace ${namespace} has no label ${label}=true: ${why}; who may change it allows that with "kubectl label namespace ${namespace} ${label}=true"`
  if (labels[runPods] !== 'true') {
    const message = lack(runPods, 'its pods would run programs of this node as processes of this node')
    return { reason: 'NamespaceNotEnabled', message }
  }
  const hasHostPort = spec.containers.some(({ ports }) => ports.some(({ hostPort }) => hostPort > 0))
  if (!(spec.hostNetwork || hasHostPort) || labels[hostNetworkPods] === 'true') return undefined
  const asked = spec.hostNetwork ? 'hostNetwork' : 'hostPort'
  const message = lack(hostNetworkPods, `${asked} takes addresses and ports of this node`)
  return { reason: 'HostNetworkNotEnabled', message }
}
