import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fullVolumes } from '../../helpers/kinds/full-volumes.ts'
import { type BesidePeer, lackOfPeer, startBesidePeer } from '../../helpers/kubernetes-peer.ts'
import type { AnyObject } from '../../helpers/simulated-cluster.ts'

const skip = lackOfPeer() ?? false
const claims = '/api/v1/namespaces/default/persistentvolumeclaims'
const mergePatch = 'application/merge-patch+json'
const isDefault = { 'storageclass.kubernetes.io/is-default-class': 'true' }

/** Objects with little in them: what a server adds is compared. */
const plain: readonly { readonly path: string; readonly body: AnyObject; readonly status?: object }[] = [
  {
    path: claims,
    body: {
      metadata: { name: 'plain' },
      spec: { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'], resources: { requests: { storage: '3Gi' } } },
    },
  },
  {
    path: '/apis/storage.k8s.io/v1/storageclasses',
    body: { metadata: { name: 'usual', annotations: isDefault }, provisioner: 'p' },
  },
  { path: '/apis/storage.k8s.io/v1/csidrivers', body: { metadata: { name: 'plain' }, spec: {} } },
]
const objects = [...fullVolumes, ...plain]

/** What both servers give the same of an object; Go writes some absent fields as null. */
function comparable({ metadata, ...rest }: AnyObject): AnyObject {
  const { uid: _uid, resourceVersion: _version, creationTimestamp: _time, managedFields: _fields, ...own } = metadata
  const times = rest.status?.lastPhaseTransitionTime === undefined ? {} : { lastPhaseTransitionTime: 'its time' }
  const object = { ...rest, metadata: own, ...(rest.status && { status: { ...rest.status, ...times } }) }
  return JSON.parse(JSON.stringify(object, (_key, value) => value ?? undefined))
}

function tableOf({ columnDefinitions, rows }: AnyObject) {
  return {
    columns: columnDefinitions.map(({ name, type, format, priority }: AnyObject) => ({ name, type, format, priority })),
    rows: rows.map(({ cells }: AnyObject) =>
      cells.map((cell: unknown) => (/^(\d+[ms])+$/.test(String(cell)) ? 'its age' : cell)),
    ),
  }
}

describe('volumes, claims and classes are answered and shown as by kube-apiserver', { skip }, () => {
  let both: BesidePeer
  before(async () => {
    both = await startBesidePeer()
  })
  after(() => both[Symbol.asyncDispose]())

  const ask = async (method: string, path: string, body?: object, type = 'application/json') => {
    const theirs = await both.peer.call(method, path, body, type)
    const ours = await both.server.call(method, path, { ...(body && { body }), headers: { 'content-type': type } })
    assert.equal(ours.code, theirs.code, `${method} ${path}: ${JSON.stringify([ours.body, theirs.body])}`)
    return { theirs: theirs.body, ours: ours.body }
  }

  for (const { path, body, status } of objects)
    test(`a new object of ${path}: ${(body['metadata'] as AnyObject).name}`, async () => {
      const made = await ask('POST', path, body)
      assert.deepEqual(comparable(made.ours), comparable(made.theirs))
      const { name } = body['metadata'] as AnyObject
      if (status === undefined) return
      const changed = await ask('PATCH', `${path}/${name}/status`, { status }, mergePatch)
      assert.deepEqual(comparable(changed.ours), comparable(changed.theirs))
    })

  for (const path of new Set(objects.map((each) => each.path)))
    test(`the table of ${path}`, async () => {
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
      const theirs = JSON.parse((await both.peer.read(path, accept)).bytes.toString())
      const ours = (await both.server.call('GET', path, { headers: { accept } })).body
      assert.deepEqual(tableOf(ours), tableOf(theirs))
    })

  test('a claim gets the default class', async () => {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    const { theirs, ours } = await ask('POST', claims, { metadata: { name: 'later' }, spec })
    assert.deepEqual([ours.spec.storageClassName, theirs.spec.storageClassName], ['usual', 'usual'])
  })

  test('a deleted object is answered, and stays while it is protected', async () => {
    for (const { path, body } of objects) {
      const item = `${path}/${(body['metadata'] as AnyObject).name}`
      const { theirs, ours } = await ask('DELETE', item)
      assert.equal(ours.kind, theirs.kind, item)
      assert.equal(typeof ours.metadata.deletionTimestamp, typeof theirs.metadata.deletionTimestamp, item)
      assert.deepEqual(ours.metadata.finalizers, theirs.metadata.finalizers, item)
    }
  })
})
