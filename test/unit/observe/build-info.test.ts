import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readBuildInfo, versionText } from '../../../src/observe/index.ts'

const [one, other] = ['1'.repeat(40), 'ab'.repeat(20)]
const packageJson = JSON.stringify({ version: '1.2.3', description: 'a program' })

/** Returns the commit that is read from a folder with package.json and these files. */
function commitOf(context: TestContext, files: Readonly<Record<string, string>>): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'platnet-build-'))
  context.after(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries({ 'package.json': packageJson, ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return readBuildInfo(folder).commit
}

test('A package has its commit in a file, which counts before a checkout around it.', (context) => {
  assert.equal(commitOf(context, { commit: `${one}\n`, '.git/HEAD': `${other}\n` }), one)
})

test('A checkout has its commit in a branch, in packed references or in HEAD itself.', (context) => {
  const head = { '.git/HEAD': 'ref: refs/heads/main\n' }
  assert.equal(commitOf(context, { ...head, '.git/refs/heads/main': `${one}\n` }), one)
  const packed = `# pack-refs with: peeled\n${other} refs/heads/other\n${one} refs/heads/main\n`
  assert.equal(commitOf(context, { ...head, '.git/packed-refs': packed }), one)
  assert.equal(commitOf(context, { '.git/HEAD': `${one}\n` }), one)
})

test('A linked worktree has HEAD of its own and branches of the repository.', (context) => {
  const files = {
    '.git': 'gitdir: repository/worktrees/tree\n',
    'repository/worktrees/tree/HEAD': 'ref: refs/heads/tree\n',
    'repository/worktrees/tree/commondir': '../..\n',
    'repository/refs/heads/tree': `${one}\n`,
  }
  assert.equal(commitOf(context, files), one)
})

test('Anything that is not a hash is no commit.', (context) => {
  assert.equal(commitOf(context, {}), undefined)
  assert.equal(commitOf(context, { commit: 'main\n' }), undefined)
  assert.equal(commitOf(context, { '.git/HEAD': 'ref: refs/heads/../../../x\n' }), undefined)
})

test('The text of a version has the first twelve digits of the commit as build metadata.', () => {
  assert.equal(versionText({ version: '1.2.3', commit: other }), '1.2.3+abababababab')
  assert.equal(versionText({ version: '1.2.3', commit: undefined }), '1.2.3')
})
