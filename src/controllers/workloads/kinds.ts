import type { ResourceName } from '../objects/writes.ts'

const apps = { group: 'apps', version: 'v1' }

export const replicaSetsResource: ResourceName = { ...apps, resource: 'replicasets' }
export const deploymentsResource: ResourceName = { ...apps, resource: 'deployments' }
export const statefulSetsResource: ResourceName = { ...apps, resource: 'statefulsets' }
export const daemonSetsResource: ResourceName = { ...apps, resource: 'daemonsets' }
export const controllerRevisionsResource: ResourceName = { ...apps, resource: 'controllerrevisions' }

export const appsVersion = 'apps/v1'
