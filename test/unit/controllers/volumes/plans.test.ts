import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nodeSchema } from '../../../../src/controllers/objects/node.ts'
import { podSchema } from '../../../../src/controllers/objects/pod.ts'
import { storageClassSchema, volumeClaimSchema, volumeSchema } from '../../../../src/controllers/objects/volume.ts'
import { VolumePlanner } from '../../../../src/controllers/scheduler/volumes.ts'
import { findVolume } from '../../../../src/controllers/volumes/match.ts'
import { planClaim } from '../../../../src/controllers/volumes/plan-claim.ts'
import { planVolume } from '../../../../src/controllers/volumes/plan-volume.ts'
import { volumeNames } from '../../../../src/model/volume-names.ts'
import { SimulatedCluster } from '../../../helpers/simulated-cluster.ts'

const names = volumeNames('kubernetes.io')
const options = { annotation: names.storageClass, waits: false }

const volumeOf = (name: string, spec: object = {}, phase = 'Available', annotations: object = {}) =>
  volumeSchema.parse({
    metadata: { name, uid: name, annotations },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], ...spec },
    status: { phase },
  })
const claimOf = (spec: object = {}, metadata: object = {}) =>
  volumeClaimSchema.parse({
    metadata: { name: 'c', namespace: 'default', uid: 'uid-c', ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  })
const bound = { annotations: { [names.bindCompleted]: 'yes' } }
const refOf = (uid: string, name = 'c') => ({ namespace: 'default', name, uid })

describe('the volume of a claim', () => {
  const chosen = (claim: ReturnType<typeof claimOf>, ...volumes: ReturnType<typeof volumeOf>[]) =>
    findVolume(claim, volumes, options)?.metadata.name

  test('is the one with the fewest modes, then the smallest, then the first by name', () => {
    const modes = { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] }
    const big = volumeOf('big', { capacity: { storage: '5Gi' } })
    assert.equal(chosen(claimOf(), volumeOf('many', modes), big), 'big')
    assert.equal(chosen(claimOf(), big, volumeOf('b'), volumeOf('a')), 'a')
  })

  test('is free, large enough, of the class, the mode and the labels, and not about to go', () => {
    const labelled = claimOf({ selector: { matchLabels: { a: 'b' } } })
    const rows: [ReturnType<typeof claimOf>, ReturnType<typeof volumeOf>][] = [
      [claimOf(), volumeOf('v', {}, 'Released')],
      [claimOf(), volumeOf('v', { capacity: { storage: '1Mi' } })],
      [claimOf({ storageClassName: 'fast' }), volumeOf('v')],
      [claimOf(), volumeOf('v', { storageClassName: 'fast' })],
      [claimOf(), volumeOf('v', { volumeMode: 'Block' })],
      [claimOf({ accessModes: ['ReadWriteMany'] }), volumeOf('v')],
      [labelled, volumeOf('v')],
      [claimOf(), volumeOf('v', { claimRef: refOf('other') })],
      [claimOf(), volumeOf('v', { claimRef: refOf('', 'other') })],
      [claimOf(), volumeSchema.parse({ ...volumeOf('v'), metadata: { name: 'v', deletionTimestamp: 'now' } })],
    ]
    for (const [claim, volume] of rows) assert.equal(chosen(claim, volume), undefined, JSON.stringify(volume.spec))
  })

  test('is the one that names the claim, also while the claim waits for a pod', () => {
    const own = volumeOf('own', { claimRef: refOf(''), storageClassName: 'x', capacity: { storage: '9Gi' } }, 'Pending')
    assert.equal(chosen(claimOf(), volumeOf('free'), own), 'own')
    assert.equal(findVolume(claimOf(), [volumeOf('free')], { ...options, waits: true }), undefined)
    assert.equal(findVolume(claimOf(), [own], { ...options, waits: true })?.metadata.name, 'own')
  })
})

describe('binding', () => {
  function bindInSteps(cluster: SimulatedCluster, writesAtOnce: number) {
    const read = () => ({
      claims: cluster.list('persistentvolumeclaims', (object) => volumeClaimSchema.parse(object)),
      volumes: cluster.list('persistentvolumes', (object) => volumeSchema.parse(object)),
    })
    for (let round = 0; round < 40; round++)
      for (const { metadata } of read().claims) {
        const { claims, volumes } = read()
        const claim = claims.find((each) => each.metadata.name === metadata.name)
        if (claim === undefined) continue
        const named = volumes.find((each) => each.metadata.name === claim.spec.volumeName)
        const view = { claim, named, volumes: () => volumes, findClass: () => undefined, defaultClass: undefined }
        const plan = planClaim({ ...view, waitingPods: [], names, storageGroup: 'storage.k8s.io' })
        cluster.apply(plan.writes.slice(0, writesAtOnce))
      }
    return read()
  }

  for (const writesAtOnce of [1, 2, 4])
    test(`ends with each volume bound once when every pass is cut off after ${writesAtOnce} writes`, () => {
      const cluster = new SimulatedCluster()
      const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
      for (const name of ['a', 'b', 'c'])
        cluster.add('persistentvolumeclaims', { metadata: { name, namespace: 'default' }, spec })
      for (const name of ['v', 'w']) {
        const volume = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] }
        cluster.add('persistentvolumes', { metadata: { name }, spec: volume, status: { phase: 'Available' } })
      }
      const { claims, volumes } = bindInSteps(cluster, writesAtOnce)
      const pairs = claims.map(({ metadata, spec: { volumeName }, status }) => [
        metadata.name,
        volumeName,
        status.phase,
      ])
      assert.deepEqual(pairs, [
        ['a', 'v', 'Bound'],
        ['b', 'w', 'Bound'],
        ['c', '', 'Pending'],
      ])
      assert.deepEqual(
        volumes.map((volume) => [volume.spec.claimRef?.name, volume.status.phase]),
        [
          ['a', 'Bound'],
          ['b', 'Bound'],
        ],
      )
    })

  test('of a claim that lost its volume, or shares it, is Lost', () => {
    const view = { volumes: () => [], findClass: () => undefined, defaultClass: undefined, waitingPods: [], names }
    const planned = (claim: ReturnType<typeof claimOf>, named: ReturnType<typeof volumeOf> | undefined) =>
      planClaim({ ...view, claim, named, storageGroup: 'storage.k8s.io' }).said?.reason
    assert.equal(planned(claimOf({}, bound), undefined), 'ClaimLost')
    const [write] = planClaim({ ...view, claim: claimOf({}, bound), named: undefined, storageGroup: 's' }).writes
    assert.deepEqual(write?.verb === 'patch' && write.patch['status'], {
      phase: 'Lost',
      accessModes: null,
      capacity: null,
    })
    assert.equal(planned(claimOf({ volumeName: 'v' }, bound), undefined), 'ClaimLost')
    const foreign = volumeOf('v', { claimRef: refOf('other') })
    assert.equal(planned(claimOf({ volumeName: 'v' }, bound), foreign), 'ClaimMisbound')
  })
})

describe('a volume', () => {
  const mark = { [names.boundByController]: 'yes' }
  const phaseOf = (writes: ReturnType<typeof planVolume>['writes']) =>
    writes.flatMap((write) => (write.verb === 'patch' && write.subresource === 'status' ? [write.patch['status']] : []))

  test('is released when its claim is gone, or another claim has its name', () => {
    for (const claim of [undefined, claimOf({}, { uid: 'newer' })]) {
      const plan = planVolume({ volume: volumeOf('v', { claimRef: refOf('uid-c') }, 'Bound'), claim, names })
      assert.equal(plan.isToReclaim, true)
      assert.deepEqual(phaseOf(plan.writes), [{ phase: 'Released', message: null, reason: null }])
    }
  })

  test('is taken back from a claim that has another one; a user who kept it for the claim keeps it so', () => {
    const claim = claimOf({ volumeName: 'other' })
    const refs = [mark, {}].map((annotations) => {
      const volume = volumeOf('v', { claimRef: refOf('uid-c') }, 'Bound', annotations)
      const [write] = planVolume({ volume, claim, names }).writes
      return write?.verb === 'patch' ? write.patch['spec'] : undefined
    })
    assert.deepEqual(refs, [{ claimRef: null }, { claimRef: { uid: null } }])
  })

  test('that a provisioner made for a claim which has another one is released, so that it is deleted', () => {
    const spec = { claimRef: refOf('uid-c'), persistentVolumeReclaimPolicy: 'Delete' }
    const volume = volumeOf('v', spec, 'Bound', { [names.provisionedBy]: 'disk.example.com' })
    assert.equal(planVolume({ volume, claim: claimOf({ volumeName: 'other' }), names }).isToReclaim, true)
  })
})

describe('the place of a pod with claims', () => {
  const node = (name: string) => nodeSchema.parse({ metadata: { name, labels: { host: name } } })
  const on = (host: string) => ({
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'host', operator: 'In', values: [host] }] }] },
    },
  })
  const pod = (name: string, claimName = 'c', spec: object = {}) =>
    podSchema.parse({
      metadata: { name, namespace: 'default', uid: name },
      spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }], ...spec },
    })
  const late = storageClassSchema.parse({
    metadata: { name: 'late' },
    provisioner: names.noProvisioner,
    volumeBindingMode: 'WaitForFirstConsumer',
  })
  const planner = (
    claims: readonly ReturnType<typeof claimOf>[],
    volumes: readonly ReturnType<typeof volumeOf>[],
    { storageClass = late, users = [] as ReturnType<typeof pod>[] } = {},
  ) =>
    new VolumePlanner({
      findClaim: (key) => claims.find(({ metadata }) => `default/${metadata.name}` === key),
      findVolume: (name) => volumes.find(({ metadata }) => metadata.name === name),
      keptFor: ({ metadata }) => volumes.filter(({ spec }) => spec.claimRef?.name === metadata.name),
      freeOf: (className) =>
        volumes.filter(({ spec }) => spec.claimRef === undefined && spec.storageClassName === className),
      findClass: (name) => (name === storageClass.metadata.name ? storageClass : undefined),
      usersOf: () => users.filter(({ spec }) => spec.nodeName),
      names,
    })

  test('is nowhere while a claim is missing, goes, is lost, or waits for the binder', () => {
    const refusal = (...claims: ReturnType<typeof claimOf>[]) => planner(claims, []).of(pod('p'))?.refusal
    assert.equal(refusal(), 'persistentvolumeclaim "c" not found')
    assert.equal(refusal(claimOf({}, { deletionTimestamp: 'now' })), 'persistentvolumeclaim "c" is being deleted')
    assert.equal(refusal(claimOf()), 'pod has unbound immediate PersistentVolumeClaims')
    const lost = volumeClaimSchema.parse({ ...claimOf({ volumeName: 'v' }), status: { phase: 'Lost' } })
    assert.match(refusal(lost) ?? '', /bound to non-existent persistentvolume "v"/)
    assert.equal(planner([], []).of(podSchema.parse({ metadata: { name: 'p' }, spec: {} })), undefined)
  })

  test('is where its volumes are', () => {
    const found = planner([claimOf({ volumeName: 'v' }, bound)], [volumeOf('v', on('n2'))]).of(pod('p'))
    assert.deepEqual(found?.reasonsAgainst(node('n1')), ["node(s) didn't match PersistentVolume's node affinity"])
    assert.deepEqual(found?.reasonsAgainst(node('n2')), [])
    assert.equal(found?.bindingsOn(node('n2')), undefined, 'nothing is left to bind')
  })

  test('is alone with a claim for one pod', () => {
    const claim = claimOf({ volumeName: 'v', accessModes: ['ReadWriteOncePod'] }, bound)
    const refusal = (users: ReturnType<typeof pod>[]) => planner([claim], [], { users }).of(pod('p'))?.refusal
    assert.match(refusal([pod('q', 'c', { nodeName: 'n1' })]) ?? '', /ReadWriteOncePod/)
    assert.equal(refusal([pod('q'), pod('p', 'c', { nodeName: 'n1' })]), undefined)
    const ended = podSchema.parse({ ...pod('q', 'c', { nodeName: 'n1' }), status: { phase: 'Succeeded' } })
    assert.equal(refusal([ended]), undefined, 'a pod that has ended uses nothing')
  })

  test('gives two pods of one pass two volumes', () => {
    const claims = ['c', 'd', 'e'].map((name) => claimOf({ storageClassName: 'late' }, { name, uid: name }))
    const volumes = ['v', 'w'].map((name) => volumeOf(name, { storageClassName: 'late', ...on('n1') }))
    const places = planner(claims, volumes)
    const given = [pod('p'), pod('q', 'd')].map((each) => {
      const [write] = places.of(each)?.bindingsOn(node('n1')) ?? []
      return write?.verb === 'patch' ? write.target.name : undefined
    })
    assert.deepEqual(given, ['v', 'w'])
    const third = places.of(pod('r', 'e'))
    assert.deepEqual(third?.reasonsAgainst(node('n1')), ["node(s) didn't find available persistent volumes to bind"])
  })

  test('is that of the first, for two pods of one pass with one claim', () => {
    const volumes = ['v', 'w'].map((name, index) =>
      volumeOf(name, { storageClassName: 'late', ...on(`n${index + 1}`) }),
    )
    const places = planner([claimOf({ storageClassName: 'late' })], volumes)
    assert.equal(places.of(pod('p'))?.bindingsOn(node('n1'))?.length, 1)
    const second = places.of(pod('q'))
    assert.equal(second?.reasonsAgainst(node('n2')).length, 1, 'the volume of the claim is on n1')
    assert.deepEqual(second?.reasonsAgainst(node('n1')), [])
    assert.deepEqual(second?.bindingsOn(node('n1')), [], 'a claim gets one volume')
  })

  test('takes one volume for a claim that a pod has twice', () => {
    const volumes = ['v', 'w'].map((name) => volumeOf(name, { storageClassName: 'late' }))
    const twice = ['a', 'b'].map((name) => ({ name, persistentVolumeClaim: { claimName: 'c' } }))
    const places = planner([claimOf({ storageClassName: 'late' })], volumes)
    assert.equal(places.of(pod('p', 'c', { volumes: twice }))?.bindingsOn(node('n1'))?.length, 1)
  })

  test('is nowhere with the claim of another for an ephemeral volume', () => {
    const own = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p', controller: true }
    const spec = { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } }] }
    const refusal = (ownerReferences: object[]) =>
      planner([claimOf({ volumeName: 'v' }, { ...bound, name: 'p-v', ownerReferences })], []).of(pod('p', '', spec))
        ?.refusal
    assert.match(refusal([]) ?? '', /pod is not owner/)
    assert.match(refusal([{ ...own, uid: 'older' }]) ?? '', /pod is not owner/)
    assert.equal(refusal([own]), undefined)
  })

  test('does not depend on amounts of others that cannot be read', () => {
    const broken = volumeOf('broken', { storageClassName: 'late', capacity: { storage: '1e99' } })
    const good = volumeOf('good', { storageClassName: 'late' })
    const [asked, odd] = [
      claimOf({ storageClassName: 'late' }),
      claimOf({ storageClassName: 'late', resources: { requests: { storage: '1e99' } } }, { name: 'd', uid: 'd' }),
    ]
    const places = planner([asked, odd], [broken, good])
    assert.equal(places.of(pod('p', 'd'))?.reasonsAgainst(node('n1')).length, 1)
    const [write] = places.of(pod('q'))?.bindingsOn(node('n1')) ?? []
    assert.equal(write?.verb === 'patch' && write.target.name, 'good')
  })

  test('is chosen for a provisioner once, in its topology', () => {
    const term = { matchLabelExpressions: [{ key: 'host', values: ['n1'] }] }
    const storageClass = storageClassSchema.parse({
      ...late,
      provisioner: 'disk.example.com',
      allowedTopologies: [term],
    })
    const claim = claimOf({ storageClassName: 'late' })
    const found = planner([claim], [], { storageClass }).of(pod('p'))
    assert.equal(found?.reasonsAgainst(node('n2')).length, 1)
    assert.equal(found?.bindingsOn(node('n1'))?.length, 1)
    const selected = claimOf({ storageClassName: 'late' }, { annotations: { [names.selectedNode]: 'n1' } })
    const again = planner([selected], [], { storageClass }).of(pod('p'))
    assert.deepEqual(again?.bindingsOn(node('n1')), [], 'it waits for the volume')
    assert.equal(again?.reasonsAgainst(node('n2')).length, 1)
  })
})
