import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createDialect } from '../../../../../src/model/dialect.ts'
import { PodFolders } from '../../../../../src/node/pods/pod-folders.ts'
import { type PodSpec, parsePod } from '../../../../../src/node/pods/pod-spec.ts'
import type { VolumeApi } from '../../../../../src/node/pods/volumes/volume-api.ts'
import { VolumeKeeper } from '../../../../../src/node/pods/volumes/volume-keeper.ts'
import { makeTemporaryFolder } from '../../../../helpers/temporary-folder.ts'

const sources = [
  { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
  { configMap: { name: 'ca', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
  { downwardAPI: { items: [{ path: 'app', fieldRef: { fieldPath: "metadata.labels['app']" } }] } },
]
const mounted = [{ name: 'access', mountPath: '/access' }]

function podOf(
  changed: { readonly labels?: object; readonly volumes?: readonly object[]; uid?: string } = {},
): PodSpec {
  const { labels = { app: 'web' }, uid = 'u-1', volumes = [{ name: 'access', projected: { sources } }] } = changed
  const metadata = { name: 'web', namespace: 'shop', uid, labels }
  const spec = { serviceAccountName: 'builder', volumes, containers: [{ name: 'c', volumeMounts: mounted }] }
  const parsed = parsePod({ metadata, spec }, createDialect('kubernetes'))
  assert.ok(parsed.kind === 'pod', JSON.stringify(parsed))
  return parsed.pod
}

const deadlineMs = 20_000

/** Resolves when the condition holds and file operations have ended. It polls, because the test controls the timers. */
async function settle(isDone: () => boolean): Promise<void> {
  const startedMs = performance.now()
  for (let turns = 0; turns < 50; turns++) {
    await stat('/')
    if (!isDone() && performance.now() - startedMs < deadlineMs) turns = 0
  }
}

/** A fake API server, controlled time and recorded requests. */
function makeLab(context: TestContext) {
  context.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const folder = makeTemporaryFolder(context)
  const folders = new PodFolders(join(folder, 'pods'), join(folder, 'volumes'))
  const api = { ca: 'first CA' as string | undefined, tokens: 0, reads: 0, isAway: false, seconds: 3607 }
  const troubles: string[] = []
  const guard = () => {
    if (api.isAway) throw new Error('the API server is away')
  }
  const volumeApi: VolumeApi = {
    readData: async () => {
      api.reads++
      guard()
      return api.ca === undefined ? undefined : new Map([['ca.crt', Buffer.from(api.ca)]])
    },
    requestToken: async () => {
      guard()
      return { token: `token ${++api.tokens}`, seconds: api.seconds }
    },
  }
  const createKeeper = () =>
    new VolumeKeeper({ folders, api: volumeApi, onTrouble: (_, error) => void troubles.push(String(error)) })
  const path = (name: string) => join(folders.volumesFolder('u-1'), 'access', name)
  const read = (name: string) => readFileSync(path(name), 'utf8')
  /** A write is over when one folder and the link `..data` are left. */
  const isQuiet = () =>
    !existsSync(path('.')) || readdirSync(path('.')).filter((name) => name.startsWith('..')).length === 2
  /** Advances the time and waits for the work that it starts. */
  const pass = async (seconds: number, isDone = () => true) => {
    context.mock.timers.tick(seconds * 1000)
    await settle(() => isQuiet() && isDone())
  }
  const keeper = createKeeper()
  context.after(() => keeper.stop())
  return { keeper, createKeeper, folders, api, troubles, path, read, pass }
}

describe('the volumes of the pods of a node', () => {
  test('are there when they were made, for the root and those whom they are mounted for alone', async (context) => {
    const { keeper, folders, read } = makeLab(context)
    await keeper.make(podOf())
    assert.deepEqual(['token', 'ca.crt', 'app'].map(read), ['token 1', 'first CA', 'web'])
    assert.equal(statSync(folders.volumesFolder('u-1')).mode & 0o777, 0o700)
  })

  test('are made once, however many containers start', async (context) => {
    const { keeper, api } = makeLab(context)
    await Promise.all([keeper.make(podOf()), keeper.make(podOf())])
    await keeper.make(podOf())
    assert.deepEqual([api.tokens, api.reads], [1, 1])
  })

  test('have a new token before the old one ends, and the old one until then', async (context) => {
    const { keeper, api, read, pass } = makeLab(context)
    await keeper.make(podOf())
    for (let minute = 0; minute < 47; minute++) await pass(60)
    assert.deepEqual([read('token'), api.tokens], ['token 1', 1])
    await pass(60)
    await pass(60, () => read('token') === 'token 2')
    assert.deepEqual([read('token'), api.tokens], ['token 2', 2])
  })

  test('follow what is in a ConfigMap within a minute and a half, and the labels of the pod at once', async (context) => {
    const { keeper, api, read, pass } = makeLab(context)
    await keeper.make(podOf())
    api.ca = 'second CA'
    keeper.follow(podOf({ labels: { app: 'shop' } }))
    await pass(0.1, () => read('app') === 'shop')
    assert.deepEqual([read('app'), read('ca.crt')], ['shop', 'first CA'])
    await pass(60)
    await pass(31, () => read('ca.crt') === 'second CA')
    assert.deepEqual([read('app'), read('ca.crt')], ['shop', 'second CA'])
  })

  test('are not written again where nothing changed', async (context) => {
    const { keeper, path, pass, api } = makeLab(context)
    await keeper.make(podOf())
    const before = statSync(path('token')).ino
    await pass(61)
    await pass(31)
    assert.ok(api.reads > 1)
    assert.equal(statSync(path('token')).ino, before)
  })

  test('are asked for together: pods of a namespace share what they read', async (context) => {
    const { keeper, api, pass } = makeLab(context)
    const uids = ['u-1', 'u-2', 'u-3']
    for (const uid of uids) await keeper.make(podOf({ uid }))
    const before = api.reads
    await pass(59)
    await pass(32)
    assert.ok(api.reads - before <= 2, `${api.reads - before}`)
  })

  test('that cannot be made say why, and nothing is there', async (context) => {
    const { keeper, api, folders } = makeLab(context)
    api.ca = undefined
    const message = 'MountVolume.SetUp failed for volume "access" : configmap "ca" not found'
    await assert.rejects(keeper.make(podOf()), { code: 'volume-failed', message })
    assert.equal(existsSync(folders.volumesFolder('u-1')), false)
    api.isAway = true
    await assert.rejects(keeper.make(podOf()), { code: 'volume-failed', message: /could not be made/ })
    Object.assign(api, { isAway: false, ca: 'CA' })
    await keeper.make(podOf())
  })

  test('stay as they are while the API server is away, and go on when it is back', async (context) => {
    const { keeper, api, read, pass, troubles } = makeLab(context)
    await keeper.make(podOf())
    api.isAway = true
    await pass(50 * 60)
    assert.deepEqual([read('token'), read('ca.crt')], ['token 1', 'first CA'])
    assert.match(troubles.join(), /the API server is away/)
    api.isAway = false
    await pass(180)
    await pass(180, () => read('token') === 'token 2')
    assert.equal(read('token'), 'token 2')
  })

  test('bigger than a pod may have are not made', async (context) => {
    const { keeper, api, folders } = makeLab(context)
    api.ca = 'x'.repeat(1024 * 1024)
    const items = Array.from({ length: 17 }, (_, index) => ({ key: 'ca.crt', path: `${index}` }))
    const pod = podOf({ volumes: [{ name: 'access', configMap: { name: 'ca', items } }] })
    await assert.rejects(keeper.make(pod), { code: 'volume-failed', message: /at most 2000 files of 16777216 bytes/ })
    assert.equal(existsSync(folders.volumesFolder('u-1')), false)
  })

  test('of containers that run are kept up to date by the agent after this one, and made for those that start', async (context) => {
    const { keeper, createKeeper, api, read, pass } = makeLab(context)
    await keeper.make(podOf())
    await keeper.stop()
    const next = createKeeper()
    context.after(() => next.stop())
    next.keep(podOf())
    await pass(0.1, () => read('token') === 'token 2')
    assert.equal(read('token'), 'token 2')
    next.keep(podOf())
    await next.make(podOf())
    await pass(0.1)
    assert.equal(api.tokens, 2)
  })

  test('of a container that starts are made although an update of them failed before', async (context) => {
    const { keeper, api, read, pass } = makeLab(context)
    api.isAway = true
    keeper.keep(podOf())
    await pass(0.1)
    await assert.rejects(keeper.make(podOf()), { code: 'volume-failed' })
    api.isAway = false
    await keeper.make(podOf())
    assert.equal(read('token'), 'token 1')
  })

  test('go with their pod, and no update brings them back', async (context) => {
    const { keeper, api, folders, pass } = makeLab(context)
    await keeper.make(podOf())
    keeper.follow(podOf({ labels: { app: 'other' } }))
    await keeper.drop('u-1')
    await pass(3600)
    assert.deepEqual([existsSync(folders.volumesFolder('u-1')), api.tokens], [false, 1])
  })

  test('of pods that are gone are removed at the start of an agent', async (context) => {
    const { keeper, folders } = makeLab(context)
    for (const uid of ['u-1', 'u-2']) mkdirSync(folders.volumesFolder(uid), { recursive: true })
    await keeper.collect(new Set(['u-2']))
    assert.deepEqual(readdirSync(folders.volumesRoot), ['u-2'])
  })

  test('that no container mounts are not made', async (context) => {
    const { keeper, api, folders } = makeLab(context)
    await keeper.make(
      podOf({
        volumes: [
          { name: 'other', projected: { sources } },
          { name: 'access', emptyDir: {} },
        ],
      }),
    )
    assert.deepEqual([api.tokens, existsSync(folders.volumesFolder('u-1'))], [0, false])
  })
})
