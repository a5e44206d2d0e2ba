import { resourceType } from '../runtime/resource-type.ts'
import {
  controllerRevisionSchema,
  daemonSetSchema,
  deploymentSchema,
  replicaSetSchema,
  replicationControllerSchema,
  statefulSetSchema,
} from './shapes.ts'

export const replicaSetType = resourceType('apps', 'v1', 'replicasets', 'ReplicaSet', replicaSetSchema)
export const replicationControllerType = resourceType(
  '',
  'v1',
  'replicationcontrollers',
  'ReplicationController',
  replicationControllerSchema,
)
export const deploymentType = resourceType('apps', 'v1', 'deployments', 'Deployment', deploymentSchema)
export const statefulSetType = resourceType('apps', 'v1', 'statefulsets', 'StatefulSet', statefulSetSchema)
export const daemonSetType = resourceType('apps', 'v1', 'daemonsets', 'DaemonSet', daemonSetSchema)
export const controllerRevisionType = resourceType(
  'apps',
  'v1',
  'controllerrevisions',
  'ControllerRevision',
  controllerRevisionSchema,
)
