import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ensureBootstrapRoles } from '../../../../src/api/bootstrap/ensure-bootstrap-roles.ts'
import { createRegistry } from '../../../../src/api/create-registry.ts'
import { openMemoryStore } from '../../../../src/api/store/index.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { newTokenIssuer } from '../../../helpers/token-issuer.ts'

test('an upgrade adds to the roles what is missing, keeps what people added, leaves alone what is to be left alone, and else writes nothing', async () => {
  const store = openMemoryStore({ log: silentLogger })
  const dialect = createDialect('kubernetes')
  const nodePortRange = { first: 30000, last: 32767 }
  const registry = createRegistry({
    store,
    dialect,
    nodePortRange,
    admitsAccounts: true,
    addsTolerations: true,
    sweepsNamespaces: true,
    now: () => new Date(0),
    newUid: () => 'uid',
  })
  const context = {
    store,
    registry,
    dialect: dialect.name,
    now: () => new Date(0),
    newUid: () => 'uid',
    pickBelow: () => 0,
    tokenIssuer: newTokenIssuer(),
    readYaml: () => assert.fail('no request, no YAML'),
    maxObjectBytes: 1_000_000,
    maxStoreBytes: 100_000_000,
  }
  await ensureBootstrapRoles(context, dialect)
  const revision = store.revision
  await ensureBootstrapRoles(context, dialect)
  assert.equal(store.revision, revision)

  const change = async (
    name: string,
    revise: (role: { rules: object[]; metadata: { annotations: object } }) => void,
  ) => {
    const entry = await store.get(`/registry/clusterroles/${name}`)
    assert.ok(entry)
    const role = JSON.parse(entry.value)
    revise(role)
    await store.commit([{ kind: 'put', key: entry.key, value: JSON.stringify(role), expectedRevision: entry.revision }])
  }
  const rulesOf = async (name: string) =>
    JSON.parse((await store.get(`/registry/clusterroles/${name}`))?.value ?? '').rules
  const before = await rulesOf('system:basic-user')
  const own = { apiGroups: [''], resources: ['pods'], verbs: ['get'] }
  await change('system:basic-user', (role) => role.rules.splice(0, 1, own))
  await change('system:monitoring', (role) => {
    role.rules = [own]
    role.metadata.annotations = { [dialect.labels.autoUpdate]: 'false' }
  })
  await ensureBootstrapRoles(context, dialect)
  const completed = await rulesOf('system:basic-user')
  assert.deepEqual([completed[0], ...completed.slice(1).toSorted()], [own, ...before.toReversed()])
  assert.deepEqual(await rulesOf('system:monitoring'), [own])
})
