import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { writeAtomically } from '../../../../../src/node/pods/volumes/atomic-files.ts'
import type { VolumeFile } from '../../../../../src/node/pods/volumes/plan-files.ts'
import { makeTemporaryFolder } from '../../../../helpers/temporary-folder.ts'

const isRoot = process.getuid?.() === 0
const file = (text: string, mode = 0o644, uid = 0): VolumeFile => ({ data: Buffer.from(text), mode, uid })

function makeVolume(context: TestContext): string {
  return join(makeTemporaryFolder(context), 'volume')
}

function read(folder: string, path: string): string {
  return readFileSync(join(folder, path), 'utf8')
}

describe('the files of a volume on disk', () => {
  test('are links to what is behind ..data, folders included, with their modes whatever the umask', async (context) => {
    const folder = makeVolume(context)
    const umask = process.umask(0o077)
    context.after(() => process.umask(umask))
    const files = new Map([
      ['token', file('secret', 0o600)],
      ['deep/er/file', file('inner', 0o444)],
    ])
    await writeAtomically(folder, files, undefined)
    assert.deepEqual([read(folder, 'token'), read(folder, 'deep/er/file')], ['secret', 'inner'])
    assert.equal(readlinkSync(join(folder, 'token')), '..data/token')
    assert.equal(readlinkSync(join(folder, 'deep')), '..data/deep')
    const modeOf = (path: string) => (statSync(join(folder, path)).mode & 0o777).toString(8)
    assert.deepEqual(['.', 'deep', 'deep/er', 'token', 'deep/er/file'].map(modeOf), ['755', '755', '755', '600', '444'])
  })

  test('change all together: who holds the folder behind ..data sees the old ones whole', async (context) => {
    const folder = makeVolume(context)
    const pair = (text: string) =>
      new Map([
        ['a', file(text)],
        ['b', file(text)],
      ])
    await writeAtomically(folder, pair('old'), undefined)
    let [seen, isOver] = [0, false]
    const reader = (async () => {
      while (!isOver) {
        const behind = readlinkSync(join(folder, '..data'))
        const [a, b] = ['a', 'b'].map((name) => read(folder, `${behind}/${name}`))
        assert.equal(a, b)
        seen++
        await new Promise(setImmediate)
      }
    })()
    for (let round = 0; round < 20; round++) await writeAtomically(folder, pair(`${round}`), undefined)
    isOver = true
    await reader
    assert.ok(seen > 20, `${seen}`)
    assert.deepEqual([read(folder, 'a'), read(folder, 'b')], ['19', '19'])
  })

  test('that are wanted no more go, and nothing is left of earlier folders', async (context) => {
    const folder = makeVolume(context)
    await writeAtomically(
      folder,
      new Map([
        ['a', file('a')],
        ['b/c', file('c')],
      ]),
      undefined,
    )
    await writeAtomically(folder, new Map([['b', file('b')]]), undefined)
    const behind = readlinkSync(join(folder, '..data'))
    assert.deepEqual(readdirSync(folder).toSorted(), ['..data', behind, 'b'].toSorted())
    assert.equal(read(folder, 'b'), 'b')
  })

  test('are written over what a write left that was cut off', async (context) => {
    const folder = makeVolume(context)
    await writeAtomically(folder, new Map([['a', file('old')]]), undefined)
    mkdirSync(join(folder, '..Half'))
    writeFileSync(join(folder, '..Half', 'a'), 'half')
    symlinkSync('..Half', join(folder, '..data_tmp'))
    await writeAtomically(folder, new Map([['a', file('new')]]), undefined)
    assert.equal(read(folder, 'a'), 'new')
    assert.equal(readdirSync(folder).length, 3)
  })

  const skip = isRoot ? false : 'only the root gives files away'
  test('belong to the user and the group that they are for', { skip }, async (context) => {
    const folder = makeVolume(context)
    await writeAtomically(folder, new Map([['deep/token', file('t', 0o640, 1000)]]), 7)
    const ownersOf = (path: string) => {
      const { uid, gid } = statSync(join(folder, path))
      return [uid, gid]
    }
    assert.deepEqual(
      [ownersOf('deep/token'), ownersOf('deep'), ownersOf('.')],
      [
        [1000, 7],
        [0, 7],
        [0, 7],
      ],
    )
  })
})
