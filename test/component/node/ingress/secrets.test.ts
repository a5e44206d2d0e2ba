import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ApiClient } from '../../../../src/client/index.ts'
import type { ObjectKey } from '../../../../src/model/api-object.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { IngressObjects, IngressWatches } from '../../../../src/node/ingress/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { startApiRecorder } from '../../../helpers/api-recorder.ts'
import { startTestServer } from '../../../helpers/api-server.ts'
import { until } from '../../../helpers/until.ts'

const reader = { token: 'of-the-reader', user: { name: 'reader', groups: [] } }
const secrets = '/api/v1/namespaces/default/secrets'
const ownWatches = 4
const count = 8
/** The last but one has no type of certificates. */
const names = Array.from({ length: count }, (_, index) => `tls-${String(index).padStart(2, '0')}`)
const [opaque = '', last = ''] = names.slice(-2)

async function startLab(context: TestContext, isWide: boolean) {
  const server = await startTestServer({ dialect: 'kubernetes', tokens: [reader] })
  context.after(() => server.stop())
  const post = async (path: string, body: object) =>
    assert.equal((await server.call('POST', path, { body })).code, 201, path)
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] }]
  const rbac = `/apis/rbac.authorization.k8s.io/v1/${isWide ? '' : 'namespaces/default/'}`
  const kind = isWide ? 'ClusterRole' : 'Role'
  const resource = kind.toLowerCase()
  await post(`${rbac}${resource}s`, { metadata: { name: 'reader' }, rules })
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name: 'reader' }
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'reader' }]
  await post(`${rbac}${resource}bindings`, { metadata: { name: 'reader' }, roleRef, subjects })
  const data = { 'tls.crt': 'AA==', 'tls.key': 'AA==' }
  for (const name of [...names, 'unnamed'])
    await post(secrets, { metadata: { name }, data, type: name === opaque ? 'Opaque' : 'kubernetes.io/tls' })
  const { asked, url, stop } = await startApiRecorder(server)
  context.after(stop)
  const client = new ApiClient({
    server: url,
    certificateAuthority: server.authority.certPem,
    skipTlsVerify: false,
    bearer: { kind: 'token', token: reader.token },
  })
  const found: string[] = []
  const objects = new IngressObjects()
  objects.onChange(() => found.push(...objects.take().secrets.keys()))
  const timing = { backoffBaseMs: 10, backoffMaxMs: 50 }
  const watches = new IngressWatches({
    ...{ client, objects, timing, ownWatches, pollMs: 100 },
    dialect: createDialect('kubernetes'),
    log: silentLogger,
  })
  const follow = (wanted: readonly string[]) =>
    watches.followSecrets(new Set(wanted.map((name): ObjectKey => `default/${name}`)))
  context.after(() => watches.stop({ signal: AbortSignal.timeout(2000) }))
  const touch = async (name: string) => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    const body = { metadata: { labels: { touched: 'yes' } } }
    assert.equal((await server.call('PATCH', `${secrets}/${name}`, { body, headers })).code, 200)
  }
  return { found, asked, follow, touch }
}

for (const isWide of [true, false])
  test(`Secrets beyond those with a watch of their own share one, or are read by their names where the server ${isWide ? 'allows' : 'refuses'} it`, async (context) => {
    const { found, asked, follow, touch } = await startLab(context, isWide)
    follow(names)
    await until('all are read', () => new Set(found).size === count)
    for (const name of [last, opaque]) {
      found.length = 0
      await touch(name)
      await until(`the change of ${name} is read`, () => found.includes(`default/${name}`))
    }
    const watched = asked
      .map(({ url }) => new URL(url, 'https://localhost').searchParams)
      .filter((each) => each.has('watch'))
    assert.equal(watched.length, isWide ? ownWatches + 1 : ownWatches)
    found.length = 0
    follow([...names, 'unnamed'])
    await until('one more is read', () => found.includes('default/unnamed'))
  })
