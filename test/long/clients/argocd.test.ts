import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { lackOfPeer } from '../../helpers/kubernetes-peer.ts'
import { untilAsync } from '../../helpers/until.ts'
import { type AnyObject, ArgoCd } from './argo-cd.ts'
import { startHollowCluster } from './hollow-kubelet.ts'
import { startPeerCluster } from './peer-cluster.ts'
import { kubectl, missingPrograms } from './programs.ts'

const deadlineMs = 90_000
const nodes = ['node-1', 'node-2']
const gitops = join(import.meta.dirname, 'gitops')
const programs = ['argocd', 'kustomize', 'redis-server', 'git'] as const

describe("Argo CD's controllers, with the roles of its manifests", { skip: missingPrograms(...programs) }, () => {
  const stack = new AsyncDisposableStack()
  let argo: ArgoCd
  before(async () => {
    argo = new ArgoCd(await startHollowCluster(stack, nodes))
    await argo.start(stack, { app: join(gitops, 'app'), overlay: join(gitops, 'overlay') })
  })
  after(() => stack.disposeAsync())

  const eventually = (what: string, holds: () => Promise<boolean>) => untilAsync(what, holds, deadlineMs)
  const get = async (path: string): Promise<AnyObject> => (await argo.cluster.admin.call('GET', path)).body
  const patch = (path: string, body: object) => argo.cluster.admin.call('PATCH', path, body)
  const untilSynced = (name: string, health = 'Healthy') =>
    eventually(`${name} is synced and ${health}`, () => argo.isSynced(name, health))
  const web = '/apis/apps/v1/namespaces/shop/deployments/web'
  const settings = '/api/v1/namespaces/shop/configmaps/settings'
  const manifest = () => readFileSync(join(argo.repository, 'app/all.yaml'), 'utf8')

  test('an Application is synced from a repository: its namespace, hook, waves and objects', async () => {
    await argo.application('shop', 'app', 'shop')
    await untilSynced('shop')
    const { resources } = await argo.statusOf('shop')
    assert.deepEqual(
      resources.filter(({ hook }: AnyObject) => !hook).map(({ kind, status }: AnyObject) => [kind, status]),
      [
        ['ConfigMap', 'Synced'],
        ['Service', 'Synced'],
        ['Deployment', 'Synced'],
      ],
    )
    const hook = await get('/apis/batch/v1/namespaces/shop/jobs/before')
    const [first, last] = [await get(settings), await get(web)].map(({ metadata }) => metadata.creationTimestamp)
    const times = [hook.status.completionTime, first, last]
    assert.deepEqual(times, times.toSorted())
    assert.equal((await get(web)).status.readyReplicas, 2)
  })

  test('a new commit is rolled out', async () => {
    await argo.commit('shop', 'app/all.yaml', manifest().replace('web:1', 'web:2'))
    await untilSynced('shop')
    const { spec, status } = await get(web)
    assert.deepEqual([spec.template.spec.containers[0].image, status.updatedReplicas], ['web:2', 2])
  })

  test('what others change or delete is put back', async () => {
    await patch(web, { spec: { replicas: 5 } })
    await eventually('two are wanted', async () => (await get(web)).spec.replicas === 2)
    await argo.cluster.admin.call('DELETE', settings)
    await eventually('the settings are back', async () => (await get(settings)).data?.colour === 'blue')
    await untilSynced('shop')
  })

  test('what is gone from the repository is removed', async () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other' } }
    await argo.commit('shop', 'app/other.yaml', JSON.stringify(other))
    await untilSynced('shop')
    const path = '/api/v1/namespaces/shop/configmaps/other'
    assert.equal((await get(path)).kind, 'ConfigMap')
    await argo.commit('shop', 'app/other.yaml')
    await untilSynced('shop')
    assert.equal((await get(path)).code, 404)
  })

  test('health follows the objects: a rollout that waits, and one that is over', async () => {
    const [before, waiting] = [
      '    spec:\n      containers:',
      '    spec:\n      nodeSelector: { disk: none }\n      containers:',
    ]
    await argo.commit('shop', 'app/all.yaml', manifest().replace(before, waiting))
    await untilSynced('shop', 'Progressing')
    await kubectl(argo.cluster, ['label', 'nodes', '--all', 'disk=none'])
    await untilSynced('shop')
  })

  test('an overlay of kustomize, applied on the server', async () => {
    await argo.application('overlay', 'overlay', 'more', ['ServerSideApply=true'])
    await untilSynced('overlay')
    const { metadata, spec } = await get('/apis/apps/v1/namespaces/more/deployments/more-web')
    assert.match(spec.template.spec.containers[0].envFrom[0].configMapRef.name, /^more-generated-/)
    const managers = metadata.managedFields.map(({ manager, operation }: AnyObject) => `${manager} ${operation}`)
    assert.ok(managers.includes('argocd-controller Apply'), managers.join())
  })

  test('a deleted Application takes its objects along', async () => {
    await kubectl(argo.cluster, ['delete', '-n', 'argocd', 'application', 'shop', 'overlay', '--timeout=60s'])
    assert.deepEqual([(await get(web)).code, (await get(settings)).code], [404, 404])
    assert.equal((await get('/apis/apps/v1/namespaces/more/deployments/more-web')).code, 404)
  })

  test('they have not complained', () => {
    assert.deepEqual(argo.complaints(), [])
  })
})

describe('Argo CD beside Kubernetes', {
  skip: missingPrograms(...programs, 'kube-controller-manager', 'kube-scheduler') || (lackOfPeer() ?? false),
}, () => {
  const stack = new AsyncDisposableStack()
  const kinds = join(import.meta.dirname, 'state-metrics')
  let both: readonly ArgoCd[]
  before(async () => {
    both = [new ArgoCd(await startHollowCluster(stack, nodes)), new ArgoCd(await startPeerCluster(stack, nodes))]
    for (const argo of both) {
      await argo.start(stack, { kinds })
      await kubectl(argo.cluster, ['label', 'node', 'node-1', 'disk=fast'])
    }
  })
  after(() => stack.disposeAsync())

  /** What an Application says of itself and of each object, once it has been applied in that way. */
  const reportOf = async (argo: ArgoCd, option: string) => {
    const { resources = [], sync, health, conditions = [], operationState } = await argo.statusOf('kinds')
    const options: readonly string[] = operationState?.operation.sync.syncOptions ?? []
    if (operationState?.phase !== 'Succeeded' || !options.includes(option)) return undefined
    const objects = resources.map(({ kind, name, status, health: found }: AnyObject) =>
      [kind, name, status, found?.status, found?.message].join(' '),
    )
    const warnings = conditions.map(({ type, message }: AnyObject) => `${type} ${message}`)
    return { objects: objects.toSorted(), sync: sync.status, health: health.status, warnings: warnings.toSorted() }
  }

  const compare = async (option: string, count: number) => {
    for (const argo of both) {
      await argo.application('kinds', 'kinds', 'shop', [option])
      const isAtRest = async () => (await argo.statusOf('kinds')).operationState?.phase === 'Succeeded'
      await untilAsync('it is at rest', isAtRest, deadlineMs)
      await argo.sync('kinds', [option])
    }
    // A later sync may begin while they are compared.
    let reports: readonly unknown[] = []
    const isSame = async () => {
      reports = await Promise.all(both.map((argo) => reportOf(argo, option)))
      return reports[0] !== undefined && isDeepStrictEqual(reports[0], reports[1])
    }
    // What differs when the time is over is shown below.
    await untilAsync('both say the same', isSame, deadlineMs).catch(() => undefined)
    const [ours, theirs] = reports as readonly Awaited<ReturnType<typeof reportOf>>[]
    assert.deepEqual(ours, theirs)
    assert.equal(ours?.objects.length, count)
  }

  test('it says the same of forty objects that it applies itself', () => compare('ServerSideApply=false', 38))

  test('it says the same of them where it applies them on the server', async () => {
    for (const argo of both) {
      // Pods with defaults of a LimitRange cannot be applied once more: they would lose them.
      const text = readFileSync(join(argo.repository, 'kinds/objects.yaml'), 'utf8')
      const documents = text.split('\n---\n').filter((each) => !each.includes('kind: Pod\n'))
      await argo.commit('kinds', 'kinds/objects.yaml', documents.join('\n---\n'))
      await untilAsync(
        'the pods are gone',
        async () => (await reportOf(argo, 'ServerSideApply=false'))?.objects.length === 36,
        deadlineMs,
      )
    }
    await compare('ServerSideApply=true', 36)
  })

  test('they have not complained', () => {
    for (const argo of both) assert.deepEqual(argo.complaints(), [])
  })
})
