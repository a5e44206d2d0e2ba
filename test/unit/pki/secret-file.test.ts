import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { ensureToken, writeSecretFile } from '../../../src/pki/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

it('A secret file is for its owner only, whatever stood there before, and leaves nothing beside it.', async (t) => {
  const folder = makeTemporaryFolder(t)
  const path = join(folder, 'new', 'secret')
  await writeSecretFile(path, 'one')
  chmodSync(path, 0o666)
  await writeSecretFile(path, 'two')
  assert.equal(readFileSync(path, 'utf8'), 'two')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(join(folder, 'new')), ['secret'])
})

it('A path that cannot be written gives an error that names it, and leaves nothing beside it.', async (t) => {
  const folder = makeTemporaryFolder(t)
  const path = join(folder, 'taken')
  mkdirSync(join(path, 'by-a-folder'), { recursive: true })
  await assert.rejects(writeSecretFile(path, 'one'), { code: 'unwritable', message: /taken could not be written: E/ })
  assert.deepEqual(readdirSync(folder), ['taken'])
})

it('A token is made once, of 256 bits, and the same for everyone who asks at once.', async (t) => {
  const folder = makeTemporaryFolder(t)
  const path = join(folder, 'token')
  const tokens = await Promise.all(Array.from({ length: 5 }, () => ensureToken(path)))
  assert.equal(new Set([...tokens, await ensureToken(path)]).size, 1)
  assert.match(tokens[0] ?? '', /^[\w-]{43}$/)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.notEqual(await ensureToken(join(folder, 'other')), tokens[0])
})

it('A file that holds no token is refused, without its text in the error, and left alone.', async (t) => {
  const path = join(makeTemporaryFolder(t), 'token')
  for (const text of ['', 'short', 'two words of more than sixteen', `${'a'.repeat(20)}\n${'b'.repeat(20)}`]) {
    writeFileSync(path, text)
    await assert.rejects(ensureToken(path), (thrown: Error) => {
      assert.match(thrown.message, /token holds no bearer token/)
      assert.ok(text === '' || !thrown.message.includes(text))
      return true
    })
    assert.equal(readFileSync(path, 'utf8'), text)
  }
})
