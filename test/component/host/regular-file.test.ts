import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { FileError, readRegularFile, readRegularFileSync } from '../../../src/host/regular-file.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const maxBytes = 100_000

/** The text, or the code of the error, by both ways of reading, which have to agree. */
async function seen(path: string): Promise<string> {
  const code = (error: unknown) => (error instanceof FileError ? error.code : `${error}`)
  let now: string
  try {
    now = readRegularFileSync(path, maxBytes).toString()
  } catch (error) {
    now = code(error)
  }
  const later = await readRegularFile(path, maxBytes).then((bytes) => bytes.toString(), code)
  assert.equal(later, now)
  return now
}

test('a regular file is read whole, also by a link and in several pieces', async (t) => {
  const folder = makeTemporaryFolder(t)
  const text = 'x'.repeat(maxBytes)
  writeFileSync(join(folder, 'file'), text)
  symlinkSync('file', join(folder, 'link'))
  writeFileSync(join(folder, 'empty'), '')
  assert.equal(await seen(join(folder, 'file')), text)
  assert.equal(await seen(join(folder, 'link')), text)
  assert.equal(await seen(join(folder, 'empty')), '')
  assert.match(await seen('/proc/version'), /^Linux/)
})

test('what is no regular file is refused at once, also behind a link', async (t) => {
  const folder = makeTemporaryFolder(t)
  const at = (name: string) => join(folder, name)
  execFileSync('mkfifo', [at('fifo')])
  symlinkSync('fifo', at('link-to-fifo'))
  mkdirSync(at('folder'))
  symlinkSync('/dev/zero', at('link-to-device'))
  symlinkSync('self', at('self'))
  writeFileSync(at('file'), '')
  const codes: Readonly<Record<string, string>> = {
    [at('fifo')]: 'not-regular',
    [at('link-to-fifo')]: 'not-regular',
    [at('folder')]: 'not-regular',
    '/dev/zero': 'not-regular',
    [at('link-to-device')]: 'not-regular',
    [at('self')]: 'unreadable',
    [at('missing')]: 'missing',
    [at('file/below')]: 'missing',
    'nul\0byte': 'unreadable',
  }
  for (const [path, code] of Object.entries(codes)) assert.equal(await seen(path), code, path)
})

test('a file beyond the limit is refused, whatever size it says it has', async (t) => {
  const folder = makeTemporaryFolder(t)
  const sparse = join(folder, 'sparse')
  writeFileSync(sparse, '')
  truncateSync(sparse, 2 ** 40)
  assert.equal(await seen(sparse), 'too-large')
  // Files in /proc say that they have 0 bytes.
  await assert.rejects(readRegularFile('/proc/self/status', 10), { code: 'too-large' })
  assert.throws(() => readRegularFileSync('/proc/self/status', 10), { code: 'too-large' })
})

test('the error of a file that may not be read names it', {
  skip: process.getuid?.() === 0 && 'root reads all',
}, async (t) => {
  const file = join(makeTemporaryFolder(t), 'secret')
  writeFileSync(file, 'x')
  chmodSync(file, 0)
  await assert.rejects(readRegularFile(file, 10), { code: 'unreadable', message: new RegExp(file) })
})
