/** The names that `--controllers` accepts, in the order of start. Options read them without loading the controllers. */
export const controllerNames = [
  'endpoints',
  'endpointslice',
  'endpointslice-mirroring',
  'replicaset',
  'replicationcontroller',
  'deployment',
  'statefulset',
  'daemonset',
  'job',
  'ttl-after-finished',
  'cronjob',
  'disruption',
  'resourcequota',
  'garbage-collector',
  'servicecidr',
  'service-addresses',
  'namespace',
  'serviceaccount',
  'root-ca-certificate-publisher',
  'event-ttl',
  'nodeipam',
  'nodelifecycle',
  'ingress-status',
  'horizontalpodautoscaling',
] as const

export type ControllerName = (typeof controllerNames)[number]
