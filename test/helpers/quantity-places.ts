/** An object with one quantity: how it is made, and where the quantity stands in it. */
interface QuantityPlace {
  readonly path: string
  readonly body: (quantity: string | number) => object
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  readonly read: (body: any) => unknown
}

const inDefault = (group: string, plural: string) => `${group}/namespaces/default/${plural}`
const metadata = { name: 'q' }

export const quantityPlaces = {
  autoscaler: {
    path: inDefault('/apis/autoscaling/v2', 'horizontalpodautoscalers'),
    body: (value) => {
      const target = { type: 'Value', value }
      const object = { metric: { name: 'm' }, describedObject: { kind: 'Service', name: 's' }, target }
      const scaleTargetRef = { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' }
      return { metadata, spec: { maxReplicas: 3, scaleTargetRef, metrics: [{ type: 'Object', object }] } }
    },
    read: (body) => body.spec?.metrics[0].object.target.value,
  },
  pod: {
    path: inDefault('/api/v1', 'pods'),
    body: (memory) => ({
      metadata,
      spec: { containers: [{ name: 'c', image: 'i', resources: { limits: { memory } } }] },
    }),
    read: (body) => body.spec?.containers[0].resources,
  },
  volume: {
    path: inDefault('/api/v1', 'pods'),
    body: (sizeLimit) => ({
      metadata,
      spec: { containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'v', emptyDir: { sizeLimit } }] },
    }),
    read: (body) => body.spec?.volumes[0].emptyDir.sizeLimit,
  },
  claim: {
    path: inDefault('/api/v1', 'persistentvolumeclaims'),
    body: (storage) => ({ metadata, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } } }),
    read: (body) => body.spec?.resources.requests.storage,
  },
  quota: {
    path: inDefault('/api/v1', 'resourcequotas'),
    body: (quantity) => ({ metadata, spec: { hard: { 'requests.memory': quantity } } }),
    read: (body) => body.spec?.hard,
  },
  'limit range': {
    path: inDefault('/api/v1', 'limitranges'),
    body: (memory) => ({ metadata, spec: { limits: [{ type: 'Container', max: { memory } }] } }),
    read: (body) => body.spec?.limits,
  },
  node: {
    path: '/api/v1/nodes',
    body: (memory) => ({ metadata, status: { capacity: { memory }, allocatable: { memory } } }),
    read: (body) => [body.status?.capacity, body.status?.allocatable],
  },
  'persistent volume': {
    path: '/api/v1/persistentvolumes',
    body: (storage) => ({
      metadata,
      spec: { capacity: { storage }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp/q' } },
    }),
    read: (body) => body.spec?.capacity,
  },
} as const satisfies Record<string, QuantityPlace>
