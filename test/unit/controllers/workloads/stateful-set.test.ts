import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { podSchema } from '../../../../src/controllers/objects/pod.ts'
import { volumeClaimSchema } from '../../../../src/controllers/objects/volume.ts'
import { controllerRevisionSchema, statefulSetSchema } from '../../../../src/controllers/workloads/shapes.ts'
import { planStatefulSet } from '../../../../src/controllers/workloads/stateful-set/plan.ts'
import { type AnyObject, readyStatus, SimulatedCluster } from '../../../helpers/simulated-cluster.ts'

function startLab(spec: object) {
  const cluster = new SimulatedCluster()
  const template = { metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'db', image: 'one' }] } }
  cluster.add('statefulsets', {
    metadata: { name: 'db', namespace: 'default' },
    spec: { serviceName: 'db', selector: { matchLabels: { app: 'db' } }, template, ...spec },
  })
  const set = () => {
    const [found] = cluster.list('statefulsets', (object) => statefulSetSchema.parse(object))
    assert.ok(found)
    return found
  }
  const pods = () => cluster.list('pods', (object) => podSchema.parse(object))
  const step = () => {
    const revisions = cluster.list('controllerrevisions', (object) => controllerRevisionSchema.parse(object))
    const labels = { podName: 'pod-name', podIndex: 'pod-index', revision: 'hash' }
    const claims = cluster.list('persistentvolumeclaims', (object) => volumeClaimSchema.parse(object))
    const findClaim = (name: string) => claims.find(({ metadata }) => metadata.name === name)
    const { writes } = planStatefulSet({ set: set(), pods: pods(), revisions, findClaim, labels, nowMs: cluster.nowMs })
    cluster.apply(writes)
    return writes
  }
  const makeReady = (name: string) => cluster.patch('pods', 'default', name, { status: readyStatus(cluster.nowMs) })
  const settle = () => {
    for (let round = 0; round < 30; round++) {
      step()
      for (const { metadata } of pods()) makeReady(metadata.name)
    }
  }
  const images = () => cluster.podImages()
  const roll = () =>
    cluster.patch('statefulsets', 'default', 'db', {
      spec: { template: { spec: { containers: [{ name: 'db', image: 'two' }] } } },
    })
  const names = () => pods().map(({ metadata }) => metadata.name)
  return { cluster, set, pods, step, makeReady, settle, images, roll, names }
}

describe('a StatefulSet', () => {
  test('makes its pods one after the other, each when the one before is ready, with names that last', () => {
    const lab = startLab({ replicas: 3 })
    lab.step()
    lab.step()
    assert.deepEqual(lab.names(), ['db-0'])
    lab.makeReady('db-0')
    lab.step()
    assert.deepEqual(lab.names(), ['db-0', 'db-1'])
    const [first] = lab.pods()
    assert.equal(first?.spec['hostname'], 'db-0')
    assert.equal(first?.spec['subdomain'], 'db')
    assert.equal(first?.metadata.labels['pod-index'], '0')
  })

  test('gives a pod that it adopts the labels of its name and ordinal', () => {
    const lab = startLab({ replicas: 1, updateStrategy: { type: 'OnDelete' } })
    lab.cluster.add('pods', {
      metadata: { name: 'db-0', namespace: 'default', labels: { app: 'db' } },
      spec: { containers: [{ name: 'db', image: 'one' }] },
      status: readyStatus(lab.cluster.nowMs),
    })
    lab.step()
    const [pod] = lab.pods()
    assert.deepEqual(pod?.metadata.labels, { app: 'db', 'pod-name': 'db-0', 'pod-index': '0' })
    const second = lab.step()
    assert.ok(!second.some((write) => write.verb === 'patch' && write.subresource === undefined), 'written once')
  })

  test('makes all at once when it is Parallel', () => {
    const lab = startLab({ replicas: 3, podManagementPolicy: 'Parallel', ordinals: { start: 5 } })
    lab.step()
    assert.deepEqual(lab.names(), ['db-5', 'db-6', 'db-7'])
  })

  const data = { metadata: { name: 'data' }, spec: { resources: { requests: { storage: '1Gi' } } } }

  /** A set of one pod, whose claim is there and has these owners. */
  const startWithClaimOf = (ownerReferences: readonly object[]) => {
    const lab = startLab({
      replicas: 1,
      volumeClaimTemplates: [data],
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
    })
    const metadata = { name: 'data-db-0', namespace: 'default', ownerReferences }
    lab.cluster.add('persistentvolumeclaims', { metadata, spec: {} })
    return lab
  }

  test('makes the claims of a pod before the pod, and the pod when they are there', () => {
    const lab = startLab({ replicas: 1, volumeClaimTemplates: [data, { ...data, metadata: { name: 'log' } }] })
    const claims = () => lab.cluster.list('persistentvolumeclaims', (object) => volumeClaimSchema.parse(object))
    lab.step()
    assert.deepEqual(
      claims().map(({ metadata }) => metadata.name),
      ['data-db-0', 'log-db-0'],
    )
    assert.deepEqual(claims()[0]?.metadata.labels, { app: 'db' })
    assert.deepEqual(lab.names(), [])
    lab.step()
    assert.deepEqual(lab.names(), ['db-0'])
    assert.deepEqual(lab.pods()[0]?.spec.volumes, [
      { name: 'data', claimName: 'data-db-0' },
      { name: 'log', claimName: 'log-db-0' },
    ])
  })

  test('makes no pod while its old claim is being deleted', () => {
    const lab = startLab({ replicas: 1, volumeClaimTemplates: [data] })
    lab.step()
    lab.cluster.patch('persistentvolumeclaims', 'default', 'data-db-0', { metadata: { deletionTimestamp: 'now' } })
    lab.step()
    assert.deepEqual(lab.names(), [])
    lab.cluster.remove('persistentvolumeclaims', 'default', 'data-db-0')
    lab.step()
    lab.step()
    assert.deepEqual(lab.names(), ['db-0'])
  })

  test('makes no pod while a claim goes with an earlier pod of the name', () => {
    const lab = startLab({ replicas: 1, volumeClaimTemplates: [data] })
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'db-0', uid: 'earlier', controller: true }
    const metadata = { name: 'data-db-0', namespace: 'default', ownerReferences: [owner] }
    lab.cluster.add('persistentvolumeclaims', { metadata, spec: {} })
    lab.settle()
    assert.deepEqual(lab.names(), [])
    lab.cluster.remove('persistentvolumeclaims', 'default', 'data-db-0')
    lab.settle()
    assert.deepEqual(lab.names(), ['db-0'])
  })

  test('leaves the owners of a claim alone that another controller has', () => {
    const owner = { apiVersion: 'v1', kind: 'Other', name: 'o', uid: 'o', controller: true }
    const lab = startWithClaimOf([owner])
    lab.settle()
    const [claim] = lab.cluster.list('persistentvolumeclaims', (object) => volumeClaimSchema.parse(object))
    assert.deepEqual(
      claim?.metadata.ownerReferences.map(({ uid }) => uid),
      ['o'],
    )
  })

  test('gives a claim its owner beside others, which stay as they were written, and makes it the controller again', () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'o' }
    const lab = startWithClaimOf([other])
    const owners = () =>
      lab.cluster.list('persistentvolumeclaims', (object) => object as AnyObject)[0].metadata.ownerReferences
    lab.settle()
    const { uid } = lab.set().metadata
    const owner = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      name: 'db',
      uid,
      controller: true,
      blockOwnerDeletion: true,
    }
    assert.deepEqual(JSON.parse(JSON.stringify(owners())), [other, owner])
    lab.cluster.patch('persistentvolumeclaims', 'default', 'data-db-0', {
      metadata: { ownerReferences: [{ ...owner, controller: false }, other] },
    })
    lab.settle()
    assert.deepEqual(JSON.parse(JSON.stringify(owners())), [other, owner])
  })

  test('leaves the owners of a claim alone that a set of the same name had before', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'earlier' }
    const lab = startWithClaimOf([owner])
    lab.settle()
    const [claim] = lab.cluster.list('persistentvolumeclaims', (object) => object as AnyObject)
    assert.deepEqual(claim.metadata.ownerReferences, [owner])
  })

  test('ends surplus pods from the highest, one at a time', () => {
    const lab = startLab({ replicas: 3 })
    lab.settle()
    lab.cluster.patch('statefulsets', 'default', 'db', { spec: { replicas: 1 } })
    lab.step()
    assert.deepEqual(lab.names(), ['db-0', 'db-1'])
    lab.step()
    assert.deepEqual(lab.names(), ['db-0'])
  })

  test('rolls from the highest down and ends with the new revision as the current one', () => {
    const lab = startLab({ replicas: 2 })
    lab.settle()
    const before = lab.set().status.currentRevision
    lab.roll()
    lab.step()
    assert.deepEqual(lab.images(), { 'db-0': 'one' })
    lab.step()
    assert.deepEqual(lab.images(), { 'db-0': 'one', 'db-1': 'two' })
    lab.step()
    assert.deepEqual(lab.images(), { 'db-0': 'one', 'db-1': 'two' }, 'db-1 is not ready yet')
    lab.settle()
    assert.deepEqual(lab.images(), { 'db-0': 'two', 'db-1': 'two' })
    const { status } = lab.set()
    assert.equal(status.currentRevision, status.updateRevision)
    assert.notEqual(status.currentRevision, before)
  })

  test('leaves pods below the partition as they are, and brings a lost one back as it was', () => {
    const lab = startLab({ replicas: 3, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } })
    lab.settle()
    lab.roll()
    lab.settle()
    assert.deepEqual(lab.images(), { 'db-0': 'one', 'db-2': 'two', 'db-1': 'two' })
    lab.cluster.remove('pods', 'default', 'db-0')
    lab.settle()
    assert.equal(lab.images()['db-0'], 'one')
  })

  test('keeps its revision below the partition when all pods are lost at once', () => {
    const lab = startLab({ replicas: 2, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } })
    lab.settle()
    const before = lab.set().status.currentRevision
    lab.roll()
    lab.settle()
    for (const name of lab.names()) lab.cluster.remove('pods', 'default', name)
    lab.settle()
    for (const name of lab.names()) lab.cluster.remove('pods', 'default', name)
    lab.settle()
    assert.deepEqual(lab.images(), { 'db-0': 'one', 'db-1': 'one' })
    assert.equal(lab.set().status.currentRevision, before)
  })

  test('keeps its revision while a failed pod of it waits for a finalizer', () => {
    const lab = startLab({ replicas: 2, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } })
    lab.settle()
    const before = lab.set().status.currentRevision
    lab.roll()
    lab.settle()
    lab.cluster.patch('pods', 'default', 'db-0', {
      metadata: { deletionTimestamp: new Date(lab.cluster.nowMs).toISOString() },
      status: { phase: 'Failed', conditions: [] },
    })
    lab.step()
    const { status } = lab.set()
    assert.deepEqual([status.replicas, status.readyReplicas, status.currentRevision], [2, 1, before])
    lab.cluster.remove('pods', 'default', 'db-0')
    lab.settle()
    assert.equal(lab.images()['db-0'], 'one')
  })

  test('deletes no surplus pod while several are not ready, and a single one that is not', () => {
    const lab = startLab({ replicas: 3 })
    lab.settle()
    const breakPod = (name: string) =>
      lab.cluster.patch('pods', 'default', name, {
        status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: new Date(0).toISOString() }] },
      })
    for (const name of ['db-0', 'db-2']) breakPod(name)
    lab.cluster.patch('statefulsets', 'default', 'db', { spec: { replicas: 0 } })
    lab.step()
    assert.deepEqual(lab.names(), ['db-0', 'db-1', 'db-2'])
    lab.makeReady('db-0')
    lab.step()
    assert.deepEqual(lab.names(), ['db-0', 'db-1'])
  })

  test('makes 500 pods in one pass when it is Parallel and wants two billion', () => {
    const lab = startLab({ replicas: 2_000_000_000, podManagementPolicy: 'Parallel', volumeClaimTemplates: [data] })
    lab.step()
    lab.step()
    assert.ok(lab.names().length <= 500)
  })

  test('leaves its current revision as it is when it updates OnDelete, whatever is deleted', () => {
    const lab = startLab({ replicas: 1, updateStrategy: { type: 'OnDelete' } })
    lab.settle()
    const before = lab.set().status.currentRevision
    lab.roll()
    lab.cluster.remove('pods', 'default', 'db-0')
    lab.settle()
    const { status } = lab.set()
    assert.deepEqual([status.currentRevision, status.currentReplicas, status.updatedReplicas], [before, 0, 1])
  })

  test('waits for the deletion of pods when it updates OnDelete', () => {
    const lab = startLab({ replicas: 2, updateStrategy: { type: 'OnDelete' } })
    lab.settle()
    lab.roll()
    lab.settle()
    assert.deepEqual(lab.images(), { 'db-0': 'one', 'db-1': 'one' })
    lab.cluster.remove('pods', 'default', 'db-1')
    lab.settle()
    assert.deepEqual(lab.images(), { 'db-0': 'one', 'db-1': 'two' })
  })
})
