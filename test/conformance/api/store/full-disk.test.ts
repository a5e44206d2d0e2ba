import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { it } from 'node:test'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const program = join(import.meta.dirname, 'full-disk.program.ts')
const canMount = spawnSync('unshare', ['--mount', 'true']).status === 0

it('A full disk makes the store refuse writes, keep reading, and open again with all that was acknowledged.', {
  skip: canMount ? false : 'needs the right to make a mount namespace (root)',
}, (t) => {
  const disk = makeTemporaryFolder(t)
  const script = 'mount -t tmpfs -o size=2m none "$1" && exec "$2" "$3" "$1/store.db"'
  const { stdout, stderr, status } = spawnSync(
    'unshare',
    ['--mount', 'sh', '-c', script, 'sh', disk, process.execPath, program],
    { encoding: 'utf8', timeout: 20_000 },
  )
  assert.equal(status, 0, stderr)
  const { codes, committed, readable, reopened, message } = JSON.parse(stdout)
  assert.deepEqual(codes, ['store-full'])
  assert.match(message, /no space is left on the disk/)
  assert.ok(committed > 10, `only ${committed} commits fitted`)
  assert.equal(readable, committed)
  assert.equal(reopened, committed)
})
