/** The drivers of a CSINode, and the fields that Kubernetes 1.34 names when it refuses them: none where it takes them. */
export interface CsiNodeCase {
  readonly title: string
  readonly drivers: readonly object[]
  readonly errors: readonly string[]
}

const driver = (fields: object = {}) => ({ name: 'csi.example.com', nodeID: 'n-1', ...fields })

export const csiNodeCases: readonly CsiNodeCase[] = [
  { title: 'none', drivers: [], errors: [] },
  { title: 'a plain one', drivers: [driver()], errors: [] },
  {
    title: 'one with all fields',
    drivers: [driver({ topologyKeys: ['example.com/zone', 'rack'], allocatable: { count: 0 } })],
    errors: [],
  },
  { title: 'no node ID', drivers: [driver({ nodeID: '' })], errors: ['spec.drivers[0].nodeID'] },
  { title: 'a long node ID', drivers: [driver({ nodeID: 'x'.repeat(257) })], errors: ['spec.drivers[0].nodeID'] },
  { title: 'a node ID that just fits', drivers: [driver({ nodeID: 'x'.repeat(256) })], errors: [] },
  { title: 'a name in capitals', drivers: [driver({ name: 'CSI.example.com' })], errors: [] },
  { title: 'a name that is none', drivers: [driver({ name: 'csi_driver' })], errors: ['spec.drivers[0].name'] },
  { title: 'a long name', drivers: [driver({ name: 'x'.repeat(64) })], errors: ['spec.drivers[0].name'] },
  {
    title: 'a name that stands twice',
    drivers: [driver(), driver({ name: 'other' }), driver()],
    errors: ['spec.drivers[2].name'],
  },
  {
    title: 'fewer than no volumes',
    drivers: [driver({ allocatable: { count: -1 } })],
    errors: ['spec.drivers[0].allocatable.count'],
  },
  { title: 'a topology key that is none', drivers: [driver({ topologyKeys: ['$'] })], errors: ['spec.drivers[0]'] },
  {
    title: 'a topology key that stands twice',
    drivers: [driver({ topologyKeys: ['a', 'b', 'a'] })],
    errors: ['spec.drivers[0]'],
  },
  {
    title: 'several errors',
    drivers: [driver({ name: 'a', nodeID: '' }), driver({ name: 'a', nodeID: '', topologyKeys: ['a', 'a'] })],
    errors: ['spec.drivers[0].nodeID', 'spec.drivers[1].nodeID', 'spec.drivers[1].name', 'spec.drivers[1]'],
  },
]

export function csiNodeOf({ drivers }: CsiNodeCase) {
  return { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name: 'node-9' }, spec: { drivers } }
}
