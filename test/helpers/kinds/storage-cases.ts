import { changes, creates, type KindCases, otherWords, replaces } from './write-case.ts'

const path = '/apis/storage.k8s.io/v1/csinodes'
const driver = { name: 'disk.example.com', nodeID: 'n-1', topologyKeys: ['example.com/zone'] }
const node = creates(path, { metadata: { name: 'new' }, spec: { drivers: [] } })
const driven = (change: object) => ({ spec: { drivers: [{ ...driver, ...change }] } })
const update = changes(`${path}/worker`)
const replace = replaces(`${path}/worker`, { metadata: { name: 'worker' }, spec: { drivers: [driver] } })
const driver0 = 'spec.drivers[0]'

export const csiNodeCases: KindCases = {
  title: 'CSINodes',
  fixtures: [{ path, body: { metadata: { name: 'worker' }, spec: { drivers: [driver] } } }],
  cases: [
    node('no drivers', {}),
    node('no spec', { spec: null }),
    node('a driver', driven({})),
    node('a name in capitals', { metadata: { name: 'New' } }, ['Invalid metadata.name']),
    node('a driver without name', driven({ name: '' }), [`Required ${driver0}.name`, `Invalid ${driver0}.name`]),
    node('a driver in capitals', driven({ name: 'Disk.Example.com' })),
    node('a driver with a slash', driven({ name: 'a/b' }), [`Invalid ${driver0}.name`]),
    node('a driver of 64 characters', driven({ name: 'a'.repeat(64) }), [`TooLong ${driver0}.name`]),
    node('a driver of 254 characters', driven({ name: 'a'.repeat(254) }), [
      `TooLong ${driver0}.name`,
      `Invalid ${driver0}.name`,
    ]),
    node('a driver without the node', driven({ nodeID: '' }), [`Required ${driver0}.nodeID`]),
    node('a node of 256 characters', driven({ nodeID: 'a'.repeat(256) })),
    node('a node of 257 characters', driven({ nodeID: 'a'.repeat(257) }), [`Invalid ${driver0}.nodeID`]),
    node('no volumes', driven({ allocatable: { count: 0 } })),
    node('fewer than no volumes', driven({ allocatable: { count: -1 } }), [`Invalid ${driver0}.allocatable.count`]),
    node('one driver twice', { spec: { drivers: [driver, driver] } }, ['Duplicate spec.drivers[1].name']),
    node('one key twice', driven({ topologyKeys: ['a', 'a'] }), [`Duplicate ${driver0}`]),
    node('an empty key', driven({ topologyKeys: [''] }), [`Required ${driver0}`, `Invalid ${driver0}`], {
      ...otherWords.keyRule,
    }),
    node('a key with a blank', driven({ topologyKeys: ['a b'] }), [`Invalid ${driver0}`]),
    update('a second driver', { spec: { drivers: [driver, { ...driver, name: 'b' }] } }),
    update('no drivers', { spec: { drivers: [] } }),
    update('another node', driven({ nodeID: 'n-2' }), ['Invalid spec.drivers'], otherWords.goFields),
    update('other keys', driven({ topologyKeys: ['b'] }), ['Invalid spec.drivers'], otherWords.goFields),
    update('volumes', driven({ allocatable: { count: 5 } }), ['Invalid spec.drivers'], otherWords.goFields),
    replace('the object without its revision', {}, ['Invalid metadata.resourceVersion']),
  ],
}
