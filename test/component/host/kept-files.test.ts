import assert from 'node:assert/strict'
import { renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { KeptFiles } from '../../../src/host/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

test('a file is read again once it has changed, also by a rename and within the same moment, and its absence is an error', async (t) => {
  const path = join(makeTemporaryFolder(t), 'resolv.conf')
  const files = new KeptFiles()
  const read = async () => (await files.read(path, 10)).toString()
  for (const text of ['one', 'two']) {
    writeFileSync(path, text)
    utimesSync(path, 1, 1)
    assert.equal(await read(), text)
  }
  writeFileSync(`${path}.new`, 'six')
  renameSync(`${path}.new`, path)
  assert.equal(await read(), 'six')
  rmSync(path)
  await assert.rejects(read(), { code: 'missing' })
})

test('a file that has been the same for seconds is not read again', async (t) => {
  const path = join(makeTemporaryFolder(t), 'resolv.conf')
  writeFileSync(path, 'one')
  const files = new KeptFiles()
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 10_000 })
  const first = await files.read(path, 10)
  assert.equal(await files.read(path, 10), first)
  await assert.rejects(files.read(path, 2), { code: 'too-large' })
  writeFileSync(path, 'another')
  assert.equal((await files.read(path, 10)).toString(), 'another')
})
