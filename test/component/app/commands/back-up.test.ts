import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStore } from '../../../../src/api/store/index.ts'
import { backUp, restore } from '../../../../src/app/commands/back-up.ts'
import { dataPaths, issueKubeconfig } from '../../../../src/app/composition/cluster-files.ts'
import { ApiError } from '../../../../src/client/index.ts'
import { describeError } from '../../../../src/model/errors.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { ensureClusterCa, issueCertificate } from '../../../../src/pki/index.ts'
import { startTestServer } from '../../../helpers/api-server.ts'
import { configMap, paths } from '../../../helpers/manifests.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

test('a store is backed up while its server runs, by who may, and restored where none runs', async (t) => {
  const dataDir = makeTemporaryFolder(t)
  const { store: path, adminKubeconfig, pki } = dataPaths(dataDir)
  const ca = await ensureClusterCa(pki)
  const serving = await issueCertificate(ca, { commonName: 'x', ips: ['127.0.0.1'], usages: ['server'], days: 1 })
  const store = await openStore({ path, dialect: 'kubernetes', log: silentLogger })
  const server = await startTestServer({
    store,
    tls: { certificate: serving.certPem, key: serving.keyPem, clientCa: ca.certPem },
  })
  t.after(() => server.stop())
  const kubeconfigFor = async (user: string, groups: readonly string[]) =>
    writeFileSync(adminKubeconfig, await issueKubeconfig(dataDir, { user, groups, server: server.url }))
  const onDisk = { dataDir, dialect: 'kubernetes' } as const
  const file = join(dataDir, 'backup.db')

  await server.call('POST', paths.configMaps, { body: configMap('kept') })
  await kubeconfigFor('ordinary', [])
  await assert.rejects(backUp(onDisk, file), (error) => error instanceof ApiError && error.code === 'forbidden')
  await kubeconfigFor('platnet-admin', ['system:masters'])
  await backUp(onDisk, file)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const nowhere = backUp(onDisk, join(dataDir, 'none', 'backup.db'))
  await assert.rejects(nowhere, (error) => {
    assert.match(describeError(error), /^the backup \S+ cannot be written: ENOENT: no such file or directory, open/)
    return true
  })
  assert.throws(() => restore(onDisk, file, true), { code: 'store-locked' })
  await server.stop()
  await backUp(onDisk, file)

  const fresh = makeTemporaryFolder(t)
  const revision = restore({ ...onDisk, dataDir: fresh }, file, false)
  const restored = await openStore({ path: dataPaths(fresh).store, dialect: 'kubernetes', log: silentLogger })
  t.after(() => restored.close())
  assert.equal(restored.revision, revision)
  assert.ok(await restored.get('/registry/configmaps/default/kept'))
})
