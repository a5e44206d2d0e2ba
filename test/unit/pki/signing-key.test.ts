import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ensureSigningKey } from '../../../src/pki/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

test('the key is made once, for its owner only', async (t) => {
  const path = join(makeTemporaryFolder(t), 'pki', 'service-account.key')
  const pem = await ensureSigningKey(path)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(await ensureSigningKey(path), pem)
  assert.equal(readFileSync(path, 'utf8'), pem)
})

test('a file that holds no such key is refused by name and left as it is', async (t) => {
  const path = join(makeTemporaryFolder(t), 'service-account.key')
  writeFileSync(path, 'not a key')
  await assert.rejects(ensureSigningKey(path), { code: 'key-invalid', message: /service-account\.key/ })
  assert.equal(readFileSync(path, 'utf8'), 'not a key')
})
