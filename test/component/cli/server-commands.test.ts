import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { openStore } from '../../../src/api/store/index.ts'
import { runCli } from '../../../src/cli/run-cli.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

async function platnet(...args: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const streams = {
    stdout: { write: (text: string) => out.push(text) },
    stderr: { write: (text: string) => err.push(text) },
  }
  const code = await runCli(['node', 'platnet', 'server', ...args], { env: {}, ...streams })
  return { code, out: out.join(''), err: err.join('') }
}

test('platnet server kubeconfig issues an identity for a node or a user', async (t) => {
  const dataDir = makeTemporaryFolder(t)
  const subjectOf = (text: string) => {
    const { users, clusters } = parse(text)
    const pem = Buffer.from(users[0].user['client-certificate-data'], 'base64')
    return [new X509Certificate(pem).subject.split('\n').toSorted(), clusters[0].cluster.server]
  }
  const node = await platnet('kubeconfig', '--data-dir', dataDir, '--node', 'node-2', '--secure-port', '7443')
  assert.deepEqual(subjectOf(node.out), [['CN=system:node:node-2', 'O=system:nodes'], 'https://127.0.0.1:7443'])
  assert.match(node.err, /^note: it names https:\/\/127\.0\.0\.1:7443, which only this machine reaches; --url .*\n$/)
  const file = join(dataDir, 'jane.kubeconfig')
  const flags = ['--user', 'jane', '--group', 'a', '--group', 'b', '--url', 'https://192.0.2.1:6443', '--out', file]
  assert.deepEqual(await platnet('kubeconfig', '--data-dir', dataDir, ...flags), { code: 0, out: '', err: '' })
  assert.deepEqual(subjectOf(readFileSync(file, 'utf8')), [['CN=jane', 'O=a', 'O=b'], 'https://192.0.2.1:6443'])
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const badName = await platnet('kubeconfig', '--data-dir', dataDir, '--node', 'a b')
  assert.deepEqual([badName.code, badName.out], [2, ''])
  assert.match(badName.err, /^error: --node: expected the name of a Node, such as node-2, got "a b"\n$/)
  for (const wrong of [[], ['--node', 'a', '--user', 'b']]) {
    const { code, err } = await platnet('kubeconfig', '--data-dir', dataDir, ...wrong)
    assert.equal(code, 2)
    assert.match(err, /expected one of --node and --user/)
  }
})

test('platnet server backup and restore say what they did, and refuse to replace a store unasked', async (t) => {
  const dataDir = makeTemporaryFolder(t)
  const file = join(dataDir, 'backup.db')
  const store = await openStore({ path: join(dataDir, 'state.db'), dialect: 'platform', log: silentLogger })
  await store.close()
  const done = await platnet('backup', file, '--data-dir', dataDir)
  assert.deepEqual([done.code, done.out], [0, ''])
  const refused = await platnet('restore', file, '--data-dir', dataDir)
  assert.equal(refused.code, 1)
  assert.match(refused.err, /state\.db is there already\n {2}what to do: .*--force/)
  const forced = await platnet('restore', file, '--force', '--data-dir', dataDir)
  assert.match(forced.err, /the store goes on at revision \d{16}\n/)
})
