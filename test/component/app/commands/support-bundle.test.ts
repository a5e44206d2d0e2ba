import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { writeSupportBundle } from '../../../../src/app/commands/support-bundle.ts'
import { dataPaths, issueKubeconfig } from '../../../../src/app/composition/cluster-files.ts'
import { optionGroups } from '../../../../src/app/option-groups.ts'
import { loadOptions } from '../../../../src/config/index.ts'
import { type Run, runProgram } from '../../../../src/host/index.ts'
import { ensureToken } from '../../../../src/pki/index.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const jwt = `eyJ${'a'.repeat(20)}.${'b'.repeat(30)}.${'c'.repeat(20)}`
const bearer = 'zq9Xv7Lm2Kp4Rt8Wn3Bd'

test('a bundle has every part that could be collected, and no secret wherever one stood', async (t) => {
  const dataDir = makeTemporaryFolder(t)
  const paths = dataPaths(dataDir)
  const kubeconfig = await issueKubeconfig(dataDir, { user: 'admin', groups: [], server: 'https://127.0.0.1:1' })
  writeFileSync(paths.adminKubeconfig, kubeconfig)
  const key = /client-key-data: (\S+)/.exec(kubeconfig)?.[1] ?? ''
  const keyLine = Buffer.from(key, 'base64').toString().split('\n')[1] ?? ''
  const agentToken = await ensureToken(paths.agentToken)
  const tokenAuthFile = join(dataDir, 'tokens.csv')
  writeFileSync(tokenAuthFile, 'static-token-of-jane,jane,1\n')
  const secrets = [key, keyLine, agentToken, 'static-token-of-jane', jwt, bearer, 'hunter2hunter2', 's3cr3tpass']
  assert.ok(secrets.every((secret) => secret.length >= 8))
  const planted = [
    ...secrets.slice(0, 5),
    `Authorization: Bearer ${bearer}`,
    'password=hunter2hunter2',
    'https://user:s3cr3tpass@example.com/',
    Buffer.from(key, 'base64').toString(),
  ].join(' text\n')
  const socket = join(dataDir, 'agent.sock')
  const agent = createServer((_, response) =>
    response.end(JSON.stringify({ text: planted, nested: { message: planted } })),
  )
  await new Promise<void>((resolve) => agent.listen(socket, resolve))
  t.after(() => agent.close())
  const run: Run = async (file, args, options) => {
    if (file === 'journalctl') throw new Error(`no journal here, ${planted}`)
    const { stdout, ...rest } = await runProgram('true', [], options)
    return { ...rest, stdout: `${stdout}${file} ${args.join(' ')}\n${planted}` }
  }
  const options = loadOptions(optionGroups, {
    flags: { dataDir, tokenAuthFile, controlSocket: socket },
  })
  const file = join(dataDir, 'bundle.tar.gz')
  const { names, missing } = await writeSupportBundle(options, file, run)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const { stdout: listed } = await runProgram('tar', ['-tzf', file], { timeoutMs: 10_000 })
  assert.deepEqual(listed.trim().split('\n'), names)
  for (const name of [
    'version.json',
    'config.yaml',
    'check.json',
    'agent/status.json',
    'agent/configz.json',
    'agent/metrics.txt',
    'rules/iptables-save.txt',
    'rules/ipset.txt',
    'rules/nft.txt',
    'network/routes.txt',
    'network/conntrack-count.txt',
    'system/packages.txt',
    'missing.txt',
  ])
    assert.ok(names.includes(`platnet-support/${name}`), name)
  assert.deepEqual(
    missing.map((line) => line.split(':', 1)[0]),
    ['events.txt', 'logs/journal.txt'],
  )
  const { stdout: all } = await runProgram('tar', ['-xzOf', file], { timeoutMs: 10_000 })
  assert.match(all, /iptables-save -c\n/)
  for (const secret of secrets) assert.ok(!all.includes(secret), secret)
})
