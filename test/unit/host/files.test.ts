import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { writeFileAtomically } from '../../../src/host/files.ts'

const folder = await mkdtemp(join(tmpdir(), 'plt-files-'))
after(() => rm(folder, { recursive: true }))

test('a file is replaced as a whole, with its mode, and nothing else is left in the folder', async () => {
  const path = join(folder, 'secret')
  await writeFileAtomically(path, 'old', 0o644)
  await writeFileAtomically(path, 'new', 0o600)
  assert.equal(await readFile(path, 'utf8'), 'new')
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  assert.deepEqual(await readdir(folder), ['secret'])
})

test('a file that cannot be replaced leaves nothing behind', async () => {
  await assert.rejects(writeFileAtomically(join(folder, 'missing', 'file'), 'x'), { code: 'ENOENT' })
  await assert.rejects(writeFileAtomically(folder, 'x'), { code: /EISDIR|ENOTEMPTY|EEXIST/ })
  assert.deepEqual(await readdir(folder), ['secret'])
})
