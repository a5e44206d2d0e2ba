import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { GarbageCollector } from '../../../src/controllers/garbage/garbage-collector.ts'
import { createScheduler } from '../../../src/controllers/scheduler/scheduler.ts'
import { createVolumeBinder } from '../../../src/controllers/volumes/binder.ts'
import { createEphemeralVolumeController } from '../../../src/controllers/volumes/ephemeral-controller.ts'
import {
  createAttributesClassProtection,
  createClaimProtection,
  createVolumeProtection,
} from '../../../src/controllers/volumes/protection.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { hollowNode, runControllers, workloadControllers } from '../../helpers/controller-lab.ts'
import type { AnyObject } from '../../helpers/simulated-cluster.ts'
import { untilAsync } from '../../helpers/until.ts'

const core = '/api/v1/namespaces/default'
const claims = `${core}/persistentvolumeclaims`
const volumes = '/api/v1/persistentvolumes'
const classes = '/apis/storage.k8s.io/v1/storageclasses'
const sets = '/apis/apps/v1/namespaces/default/statefulsets'
const mergePatch = { 'content-type': 'application/merge-patch+json' }
const eventually = (what: string, condition: () => Promise<boolean>) => untilAsync(what, condition, 30_000)

describe('claims and volumes', () => {
  let server: TestServer
  let controllers: AsyncDisposable
  before(async () => {
    server = await startTestServer()
    controllers = await runControllers(server, (kit) => [
      ...workloadControllers(kit),
      createVolumeBinder(kit),
      createClaimProtection(kit),
      createVolumeProtection(kit),
      createAttributesClassProtection(kit),
      createEphemeralVolumeController(kit),
      createScheduler(kit),
      new GarbageCollector(kit),
      hollowNode(kit, (pod) => Boolean(pod.spec.nodeName)),
    ])
    const names = ['n1', 'n2']
    for (const name of names) await post('/api/v1/nodes', { metadata: { name, labels: { host: name } } })
  })
  after(async () => {
    await controllers[Symbol.asyncDispose]()
    await server.stop()
  })

  const post = async (path: string, body: object) => {
    const answer = await server.call('POST', path, { body })
    assert.equal(answer.code, 201, answer.text)
    return answer.body as AnyObject
  }
  const read = async (path: string): Promise<AnyObject> => (await server.call('GET', path)).body
  const patch = async (path: string, body: object) => {
    const answer = await server.call('PATCH', path, { body, headers: mergePatch })
    assert.equal(answer.code, 200, answer.text)
  }
  const remove = (path: string) => server.call('DELETE', path)
  const makeVolume = (name: string, spec: object = {}, metadata: object = {}) =>
    post(volumes, {
      metadata: { name, ...metadata },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: name,
        hostPath: { path: `/disks/${name}` },
        ...spec,
      },
    })
  const makeClaim = (name: string, spec: object = {}) =>
    post(claims, {
      metadata: { name },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: name,
        resources: { requests: { storage: '1Gi' } },
        ...spec,
      },
    })
  const makePod = (name: string, claimName: string, spec: object = {}) =>
    post(`${core}/pods`, {
      metadata: { name },
      spec: {
        containers: [{ name: 'c', image: 'i' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
        ...spec,
      },
    })
  const onNode = (node: string) => ({
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'host', operator: 'In', values: [node] }] }] },
  })
  const hasPhase = (path: string, phase: string) =>
    eventually(`${path} is ${phase}`, async () => (await read(path)).status?.phase === phase)
  const isGone = (path: string) =>
    eventually(`${path} is gone`, async () => (await server.call('GET', path)).code === 404)
  const hasEvent = (name: string, reason: string, message: RegExp) =>
    eventually(`${name} has the Event ${reason}`, async () => {
      const { items } = await read(`${core}/events`)
      const own = items.filter(({ involvedObject }: AnyObject) => involvedObject.name === name)
      return own.some((event: AnyObject) => event.reason === reason && message.test(event.message))
    })
  const runsOn = (pod: string, node: string) =>
    eventually(`${pod} runs on ${node}`, async () => (await read(`${core}/pods/${pod}`)).spec.nodeName === node)

  test('a claim gets the smallest volume that suits it, both name each other, and the size is in its status', async () => {
    const className = 'sizes'
    await makeVolume('sizes-big', { storageClassName: className, capacity: { storage: '10Gi' } })
    await makeVolume('sizes-fit', { storageClassName: className, capacity: { storage: '2Gi' } })
    await makeVolume('sizes-small', { storageClassName: className, capacity: { storage: '1Mi' } })
    for (const name of ['big', 'fit', 'small']) await hasPhase(`${volumes}/sizes-${name}`, 'Available')
    await makeClaim('sizes')
    await hasPhase(`${claims}/sizes`, 'Bound')
    const { spec, status, metadata } = await read(`${claims}/sizes`)
    assert.deepEqual(
      [spec.volumeName, status.capacity, status.accessModes],
      ['sizes-fit', { storage: '2Gi' }, ['ReadWriteOnce']],
    )
    assert.equal(metadata.annotations['pv.kubernetes.io/bind-completed'], 'yes')
    const volume = await read(`${volumes}/sizes-fit`)
    assert.deepEqual([volume.spec.claimRef.name, volume.spec.claimRef.uid], ['sizes', metadata.uid])
    assert.equal(volume.status.phase, 'Bound')
    assert.equal((await read(`${volumes}/sizes-big`)).status.phase, 'Available')
  })

  test('a selector, an access mode and a mode keep a claim from volumes without them', async () => {
    await makeVolume('picky-plain', { storageClassName: 'picky' })
    await makeVolume('picky-block', { storageClassName: 'picky', volumeMode: 'Block' }, { labels: { tier: 'gold' } })
    await makeClaim('picky', { selector: { matchLabels: { tier: 'gold' } } })
    await hasEvent('picky', 'ProvisioningFailed', /storageclass.storage.k8s.io "picky" not found/)
    await makeVolume(
      'picky-gold',
      { storageClassName: 'picky', accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] },
      { labels: { tier: 'gold' } },
    )
    await hasPhase(`${claims}/picky`, 'Bound')
    assert.equal((await read(`${claims}/picky`)).spec.volumeName, 'picky-gold')
  })

  test('a volume that names a claim waits for it, and a claim that names a volume gets that one', async () => {
    await makeVolume('kept', { claimRef: { namespace: 'default', name: 'late' }, storageClassName: 'kept' })
    await makeVolume('wanted', { storageClassName: 'kept' })
    await makeClaim('early', { storageClassName: 'kept', volumeName: 'wanted' })
    await hasPhase(`${claims}/early`, 'Bound')
    assert.equal((await read(`${volumes}/kept`)).status.phase, 'Available')
    await makeClaim('late', { storageClassName: 'kept' })
    await hasPhase(`${claims}/late`, 'Bound')
    assert.equal((await read(`${claims}/late`)).spec.volumeName, 'kept')
  })

  test('a claim that names a volume of another claim, or one that does not suit, says so', async () => {
    await makeClaim('second', { storageClassName: 'kept', volumeName: 'wanted' })
    await hasEvent('second', 'FailedBinding', /volume "wanted" already bound to a different claim/)
    await makeVolume('tiny', { capacity: { storage: '1Mi' } })
    await makeClaim('huge', { storageClassName: 'tiny', volumeName: 'tiny' })
    await hasEvent('huge', 'VolumeMismatch', /Cannot bind to requested volume "tiny": requested PV is too small/)
    await makeClaim('classless', { storageClassName: '' })
    await hasEvent('classless', 'FailedBinding', /no persistent volumes available for this claim and no storage class/)
  })

  test('a claim stays while a pod uses it; then its volume is released and kept', async () => {
    await makeVolume('held')
    await makeClaim('held')
    await makePod('holder', 'held')
    await eventually('it has a node', async () => Boolean((await read(`${core}/pods/holder`)).spec.nodeName))
    await remove(`${claims}/held`)
    assert.ok((await read(`${claims}/held`)).metadata.deletionTimestamp)
    await remove(`${volumes}/held`)
    assert.ok((await read(`${volumes}/held`)).metadata.deletionTimestamp, 'a bound volume stays')
    await remove(`${core}/pods/holder`)
    await isGone(`${claims}/held`)
    await isGone(`${volumes}/held`)
  })

  test('a released volume is kept, deleted, or says why it cannot be, as its policy wants', async () => {
    const folder = mkdtempSync('/tmp/plt-volume-')
    try {
      await makeVolume('keeps')
      await makeVolume('drops', { persistentVolumeReclaimPolicy: 'Delete', hostPath: { path: folder } })
      await makeVolume('foreign', {
        persistentVolumeReclaimPolicy: 'Delete',
        nfs: { server: 's', path: '/a' },
        hostPath: null,
      })
      await makeVolume('elsewhere', { persistentVolumeReclaimPolicy: 'Delete' })
      const names = ['keeps', 'drops', 'foreign', 'elsewhere']
      for (const name of names) await makeClaim(name)
      for (const name of names) await hasPhase(`${claims}/${name}`, 'Bound')
      for (const name of names) await remove(`${claims}/${name}`)
      await hasPhase(`${volumes}/keeps`, 'Released')
      await isGone(`${volumes}/drops`)
      assert.ok(!existsSync(folder))
      await hasPhase(`${volumes}/foreign`, 'Failed')
      assert.match((await read(`${volumes}/foreign`)).status.message, /no deletable volume plugin matched/)
      await hasPhase(`${volumes}/elsewhere`, 'Failed')
      assert.match((await read(`${volumes}/elsewhere`)).status.message, /only supports \/tmp\/\.\+/)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('a volume that is gone makes its claim Lost', async () => {
    await makeVolume('lost')
    await makeClaim('lost')
    await hasPhase(`${claims}/lost`, 'Bound')
    await patch(`${volumes}/lost`, { metadata: { finalizers: null } })
    await remove(`${volumes}/lost`)
    await patch(`${volumes}/lost`, { metadata: { finalizers: null } }).catch(() => undefined)
    await hasPhase(`${claims}/lost`, 'Lost')
    await hasEvent('lost', 'ClaimLost', /has lost its PersistentVolume/)
  })

  test('a pod waits for its claim, and then runs where the volume is', async () => {
    await makePod('patient', 'missing')
    await hasEvent('patient', 'FailedScheduling', /0\/2 nodes are available: persistentvolumeclaim "missing" not found/)
    await makeClaim('missing')
    await hasEvent('patient', 'FailedScheduling', /pod has unbound immediate PersistentVolumeClaims/)
    await makeVolume('missing', { nodeAffinity: onNode('n2') })
    await runsOn('patient', 'n2')
  })

  test('a claim of a class that waits for its first pod is bound where that pod can run', async () => {
    const body = { provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer' }
    await post(classes, { metadata: { name: 'local' }, ...body })
    for (const node of ['n1', 'n2'])
      await makeVolume(`local-${node}`, { storageClassName: 'local', nodeAffinity: onNode(node) })
    await makeClaim('local')
    await hasEvent('local', 'WaitForFirstConsumer', /waiting for first consumer/)
    assert.equal((await read(`${claims}/local`)).status.phase, 'Pending')
    await makePod('local', 'local', { nodeSelector: { host: 'n2' } })
    await runsOn('local', 'n2')
    assert.equal((await read(`${claims}/local`)).spec.volumeName, 'local-n2')
    await makeClaim('other', { storageClassName: 'local' })
    await makePod('other', 'other', { nodeSelector: { host: 'n2' } })
    await hasEvent('other', 'FailedScheduling', /1 node\(s\) didn't find available persistent volumes to bind/)
  })

  test('a provisioner is asked for a volume, at once or on the node that the scheduler has chosen', async () => {
    const provisioner = 'disk.example.com'
    await post(classes, { metadata: { name: 'now' }, provisioner })
    await post(classes, { metadata: { name: 'then' }, provisioner, volumeBindingMode: 'WaitForFirstConsumer' })
    await makeClaim('now')
    await hasEvent('now', 'ExternalProvisioning', /external provisioner 'disk.example.com'/)
    const asked = 'volume.kubernetes.io/storage-provisioner'
    assert.equal((await read(`${claims}/now`)).metadata.annotations[asked], provisioner)
    await makeClaim('then')
    await makePod('then', 'then', { nodeSelector: { host: 'n1' } })
    const annotations = async () => (await read(`${claims}/then`)).metadata.annotations ?? {}
    await eventually(
      'a node is chosen',
      async () => (await annotations())['volume.kubernetes.io/selected-node'] === 'n1',
    )
    await eventually('it is asked', async () => (await annotations())[asked] === provisioner)
    const { uid } = (await read(`${claims}/then`)).metadata
    const claimRef = { namespace: 'default', name: 'then', uid }
    await makeVolume('made', { storageClassName: 'then', claimRef, nodeAffinity: onNode('n1') })
    await runsOn('then', 'n1')
  })

  test('the default class is given to claims that name none, also to those that were there before', async () => {
    await makeClaim('before', { storageClassName: null })
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
    await post(classes, { metadata: { name: 'standard', annotations }, provisioner: 'disk.example.com' })
    await eventually(
      'it has the class',
      async () => (await read(`${claims}/before`)).spec.storageClassName === 'standard',
    )
    const { spec } = await makeClaim('after', { storageClassName: null })
    assert.equal(spec.storageClassName, 'standard')
    await remove(`${classes}/standard`)
  })

  test('an ephemeral volume has a claim of its pod alone, which goes with it', async () => {
    await makeVolume('scratch')
    const spec = {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'scratch',
      resources: { requests: { storage: '1Gi' } },
    }
    const ephemeral = { volumeClaimTemplate: { metadata: { labels: { a: 'b' } }, spec } }
    await makePod('short', '', { volumes: [{ name: 'scratch', ephemeral }] })
    await hasPhase(`${claims}/short-scratch`, 'Bound')
    const { metadata } = await read(`${claims}/short-scratch`)
    assert.deepEqual([metadata.labels, metadata.ownerReferences[0].kind], [{ a: 'b' }, 'Pod'])
    await remove(`${core}/pods/short`)
    await isGone(`${claims}/short-scratch`)
  })

  test('a VolumeAttributesClass stays while a claim names it', async () => {
    const attributes = '/apis/storage.k8s.io/v1/volumeattributesclasses'
    await post(attributes, { metadata: { name: 'gold' }, driverName: 'd', parameters: { a: 'b' } })
    await makeClaim('golden', { volumeAttributesClassName: 'gold' })
    await remove(`${attributes}/gold`)
    assert.ok((await read(`${attributes}/gold`)).metadata.deletionTimestamp)
    await remove(`${claims}/golden`)
    await isGone(`${attributes}/gold`)
  })

  test('a StatefulSet has a claim for each pod, which outlives it, or not, as its policy wants', async () => {
    const template = { metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const claim = {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'db', resources: { requests: { storage: '1Gi' } } },
    }
    for (const index of [0, 1, 2]) await makeVolume(`db-${index}`, { storageClassName: 'db' })
    const selector = { matchLabels: { app: 'db' } }
    const spec = { replicas: 2, serviceName: 'db', selector, template, volumeClaimTemplates: [claim] }
    await post(sets, { metadata: { name: 'db' }, spec })
    await eventually('both are ready', async () => (await read(`${sets}/db`)).status?.readyReplicas === 2)
    for (const name of ['data-db-0', 'data-db-1']) await hasPhase(`${claims}/${name}`, 'Bound')
    assert.deepEqual((await read(`${core}/pods/db-1`)).spec.volumes[0], {
      name: 'data',
      persistentVolumeClaim: { claimName: 'data-db-1' },
    })
    const kept = (await read(`${claims}/data-db-1`)).metadata.uid
    const sized = (replicas: number) => patch(`${sets}/db`, { spec: { replicas } })
    await sized(1)
    await isGone(`${core}/pods/db-1`)
    await sized(2)
    await eventually('it is back', async () => (await read(`${sets}/db`)).status?.readyReplicas === 2)
    assert.equal((await read(`${claims}/data-db-1`)).metadata.uid, kept, 'the new pod has the old claim')
    await patch(`${sets}/db`, {
      spec: { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted: 'Delete' } },
    })
    await eventually(
      'the set owns them',
      async () => (await read(`${claims}/data-db-0`)).metadata.ownerReferences?.length === 1,
    )
    await sized(1)
    await isGone(`${claims}/data-db-1`)
    await remove(`${sets}/db`)
    await isGone(`${claims}/data-db-0`)
  })
})
