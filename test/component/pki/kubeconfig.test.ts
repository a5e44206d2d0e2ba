import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { it } from 'node:test'
import { parse } from 'yaml'
import { renderKubeconfig, writeSecretFile } from '../../../src/pki/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const content = {
  server: 'https://127.0.0.1:6443',
  caPem: 'ca'.repeat(200),
  clientCertPem: 'certificate',
  clientKeyPem: 'key',
  user: 'admin',
  cluster: 'platnet',
}

it('A kubeconfig names server, cluster and user, and carries the files in base64.', () => {
  assert.deepEqual(parse(renderKubeconfig(content)), {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'platnet',
        cluster: {
          server: 'https://127.0.0.1:6443',
          'certificate-authority-data': Buffer.from(content.caPem).toString('base64'),
        },
      },
    ],
    users: [{ name: 'admin', user: { 'client-certificate-data': 'Y2VydGlmaWNhdGU=', 'client-key-data': 'a2V5' } }],
    contexts: [{ name: 'admin@platnet', context: { cluster: 'platnet', user: 'admin' } }],
    'current-context': 'admin@platnet',
  })
})

it('Names that mean something in YAML stay names.', () => {
  const { users } = parse(renderKubeconfig({ ...content, user: 'a: {b}\n# "c"' }))
  assert.equal(users[0].name, 'a: {b}\n# "c"')
})

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0

it('kubectl understands the file.', { skip: hasKubectl ? false : 'needs kubectl' }, async (t) => {
  const path = join(makeTemporaryFolder(t), 'admin.kubeconfig')
  await writeSecretFile(path, renderKubeconfig(content))
  const { stdout, stderr } = spawnSync(
    'kubectl',
    ['--kubeconfig', path, 'config', 'view', '--raw', '--minify', '-o', 'json'],
    {
      encoding: 'utf8',
    },
  )
  assert.equal(stderr, '')
  const { clusters, users } = JSON.parse(stdout)
  assert.equal(clusters[0].cluster.server, content.server)
  assert.equal(users[0].user['client-key-data'], 'a2V5')
})
