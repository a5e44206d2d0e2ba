import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { accountCases, caseAccounts, podOfAccountCase } from '../../helpers/account-cases.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { untilAsync } from '../../helpers/until.ts'

const namespace = '/api/v1/namespaces/default'
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
const simple = podOfAccountCase({ title: '', spec: { containers: [{ name: 'main', image: 'web:1' }] } })

async function tryPod(server: TestServer, title: string) {
  const found = accountCases.find((each) => each.title === title)
  assert.ok(found, `there is no case ${title}`)
  return server.call('POST', `${namespace}/pods?dryRun=All`, { body: podOfAccountCase(found) })
}

async function makeAccounts(server: TestServer): Promise<void> {
  for (const body of caseAccounts)
    assert.equal((await server.call('POST', `${namespace}/serviceaccounts`, { body })).code, 201)
}

describe('a new Pod in the kubernetes dialect', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ dialect: 'kubernetes', admitsAccounts: true })
    await makeAccounts(server)
  })
  after(() => server.stop())

  test('runs as the account default and has a volume with its token, the CA and the namespace', async () => {
    const { code, body } = await tryPod(server, 'no account')
    assert.equal(code, 201)
    assert.deepEqual([body.spec.serviceAccountName, body.spec.serviceAccount], ['default', 'default'])
    const [{ name, projected }, ...others] = body.spec.volumes
    assert.deepEqual(others, [])
    assert.match(name, /^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
    assert.deepEqual(projected, {
      defaultMode: 420,
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
    })
    assert.deepEqual(body.spec.containers[0].volumeMounts, [{ name, readOnly: true, mountPath }])
  })

  test('has what admission adds without a manager, so that an apply of another manager is no conflict', async () => {
    const { body } = await tryPod(server, 'no account')
    const { 'f:spec': fields } = body.metadata.managedFields[0].fieldsV1
    assert.ok(fields['f:containers'])
    assert.deepEqual([fields['f:volumes'], fields['f:serviceAccountName']], [undefined, undefined])
  })

  const tokens: readonly (readonly [string, number])[] = [
    ['no token by the Pod', 0],
    ['no token by the account', 0],
    ['a token by the Pod, none by the account', 1],
    ['no token by the Pod, one by the account', 0],
    ['a mount at the path in each container', 0],
    ['a mount at the path in one container of two', 1],
    ['a volume with such a name', 0],
    ['a mirror pod', 0],
  ]
  for (const [title, count] of tokens)
    test(`gets ${count} volumes with a token: ${title}`, async () => {
      const { code, body } = await tryPod(server, title)
      assert.equal(code, 201)
      const projected = (body.spec.volumes ?? []).filter((volume: object) => 'projected' in volume)
      assert.equal(projected.length, count)
    })

  test('keeps a mount of its own at the path, and its other containers and init containers get the token', async () => {
    const { body: two } = await tryPod(server, 'a mount at the path in one container of two')
    const [own, side] = two.spec.containers.map((each: { volumeMounts: { name: string }[] }) => each.volumeMounts)
    assert.deepEqual(own, [{ name: 'data', mountPath }])
    assert.equal(side[0].name, two.spec.volumes[1].name)
    const { body: first } = await tryPod(server, 'init containers and other volumes')
    assert.equal(first.spec.initContainers[0].volumeMounts[0].mountPath, mountPath)
    assert.equal(first.spec.containers[0].volumeMounts.length, 2)
  })

  test('uses a volume that bears such a name already', async () => {
    const { body } = await tryPod(server, 'a volume with such a name')
    assert.deepEqual(body.spec.containers[0].volumeMounts[0].name, 'kube-api-access-mine')
    assert.equal(body.spec.volumes.length, 1)
  })

  test('pulls images with the Secrets of its account unless it names some', async () => {
    const pulling = await tryPod(server, 'Secrets to pull with')
    assert.deepEqual(pulling.body.spec.imagePullSecrets, [{ name: 'registry' }, { name: 'mirror' }])
    const own = await tryPod(server, 'Secrets to pull with of its own')
    assert.deepEqual(own.body.spec.imagePullSecrets, [{ name: 'own' }])
  })

  for (const { title, refusal } of accountCases)
    test(`is ${refusal === undefined ? 'taken' : 'refused'}: ${title}`, async () => {
      const { code, body } = await tryPod(server, title)
      assert.equal(code, refusal === undefined ? 201 : 403, body.message)
      if (refusal !== undefined) assert.equal(body.message, `pods "web" is forbidden: ${refusal}`)
    })

  test('is not found where its namespace is missing, whatever its account', async () => {
    const { code, body } = await server.call('POST', '/api/v1/namespaces/missing/pods', { body: simple })
    assert.deepEqual([code, body.message], [404, 'namespaces "missing" not found'])
  })

  test('is stored with its token volume, which an update leaves alone', async () => {
    const made = await server.call('POST', `${namespace}/pods`, { body: simple })
    assert.equal(made.code, 201)
    const labels = { metadata: { labels: { app: 'web' } } }
    const headers = { 'content-type': 'application/merge-patch+json' }
    const patched = await server.call('PATCH', `${namespace}/pods/web`, { body: labels, headers })
    assert.equal(patched.code, 200, patched.body.message)
    assert.deepEqual(patched.body.spec, made.body.spec)
  })
})

describe('a Pod in a namespace whose default account is not there yet', () => {
  test('waits for the controller that makes it', async () => {
    await using server = await startTestServer({ dialect: 'kubernetes', admitsAccounts: true })
    const made = server.call('POST', `${namespace}/pods`, { body: simple })
    await sleep(150)
    await makeAccounts(server)
    assert.equal((await made).code, 201)
  })

  test('is refused when it does not come', async () => {
    await using server = await startTestServer({ dialect: 'kubernetes', admitsAccounts: true })
    const { code, body } = await server.call('POST', `${namespace}/pods`, { body: simple })
    assert.equal(code, 403)
    const why = 'error looking up service account default/default: serviceaccount "default" not found'
    assert.equal(body.message, `pods "web" is forbidden: ${why}`)
  })

  test('keeps no other write waiting: one slot is enough for both', async () => {
    const limits = { maxWrites: 1 }
    await using server = await startTestServer({ dialect: 'kubernetes', admitsAccounts: true, limits })
    const made = server.call('POST', `${namespace}/pods`, { body: simple })
    await sleep(150)
    // The Pod's request may still be on its way to its wait, and the account's write is refused then.
    const body = { metadata: { name: 'default' } }
    const create = () => server.call('POST', `${namespace}/serviceaccounts`, { body })
    await untilAsync('the account is created', async () => (await create()).code === 201)
    assert.equal((await made).code, 201)
  })
})

describe('a Pod that gets nothing from an account', () => {
  const without = [
    ['in the platform dialect', { dialect: 'platform', admitsAccounts: true }],
    ['with --disable-admission-plugins ServiceAccount', { dialect: 'kubernetes', admitsAccounts: false }],
  ] as const
  for (const [where, options] of without)
    test(where, async () => {
      await using server = await startTestServer(options)
      const { code, body } = await server.call('POST', `${namespace}/pods`, { body: simple })
      assert.equal(code, 201)
      assert.deepEqual([body.spec.serviceAccountName, body.spec.volumes], [undefined, undefined])
    })
})

describe('how long a new Pod stays on a node in trouble', () => {
  const [notReady, unreachable] = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
  const forFiveMinutes = (key: string) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 })
  const cases: readonly [string, object[] | undefined, object[] | undefined][] = [
    ['five minutes where it says nothing', undefined, [forFiveMinutes(notReady), forFiveMinutes(unreachable)]],
    [
      'as it says about one taint, and five minutes for the other',
      [{ ...forFiveMinutes(notReady), tolerationSeconds: 5 }],
      [{ ...forFiveMinutes(notReady), tolerationSeconds: 5 }, forFiveMinutes(unreachable)],
    ],
    ['for good where it tolerates all', [{ operator: 'Exists' }], [{ operator: 'Exists' }]],
    [
      'five minutes where its toleration is for scheduling alone',
      [{ key: unreachable, operator: 'Exists', effect: 'NoSchedule' }],
      [
        { key: unreachable, operator: 'Exists', effect: 'NoSchedule' },
        forFiveMinutes(notReady),
        forFiveMinutes(unreachable),
      ],
    ],
  ]
  let server: TestServer
  before(async () => {
    server = await startTestServer({ addsTolerations: true })
  })
  after(() => server.stop())

  const tolerationsOf = async (on: TestServer, tolerations: object[] | undefined) => {
    const body = { ...simple, spec: { ...simple.spec, tolerations } }
    const reply = await on.call('POST', `${namespace}/pods?dryRun=All`, { body })
    assert.equal(reply.code, 201, reply.text)
    return reply.body.spec.tolerations
  }
  for (const [title, given, expected] of cases)
    test(title, async () => assert.deepEqual(await tolerationsOf(server, given), expected))

  test('as its author wrote with --disable-admission-plugins DefaultTolerationSeconds and in the platform dialect', async () => {
    await using without = await startTestServer()
    await using platform = await startTestServer({ dialect: 'platform', addsTolerations: true })
    for (const on of [without, platform]) assert.equal(await tolerationsOf(on, undefined), undefined)
  })
})
