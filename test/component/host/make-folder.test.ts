import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolder } from '../../../src/host/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

test('A folder is made with its parents for its owner alone, and one that is there stays.', async (t) => {
  const path = join(makeTemporaryFolder(t), 'a', 'b')
  await makeFolder(path, '--data-dir')
  await makeFolder(path, '--data-dir')
  assert.equal(statSync(path).mode & 0o777, 0o700)
})

test('A folder that cannot be made is an error at once that names its option, also where mkdir tries for ever.', async () => {
  for (const path of ['/proc/x/y', '/dev/null/x']) {
    await assert.rejects(makeFolder(path, '--data-dir'), {
      name: 'FolderError',
      message: /^the folder \/\S+ cannot be made: E\w+: .*$/,
      remedy: 'name a folder that this user may write with --data-dir',
    })
  }
})
