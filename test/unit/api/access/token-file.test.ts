import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isOpenToOthers, parseTokenFile, readTokenFile } from '../../../../src/api/access/token-file.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

test('a line is token, user, uid and perhaps groups', () => {
  const text = 's3cret-1,jane,u-1,"people,admins"\r\n\n"s3cret,2", bob ,,people\ns3cret-3,"o""hara",7\n'
  assert.deepEqual(parseTokenFile(text, 'tokens.csv'), [
    { token: 's3cret-1', user: { name: 'jane', groups: ['people', 'admins'], uid: 'u-1' } },
    { token: 's3cret,2', user: { name: 'bob', groups: ['people'] } },
    { token: 's3cret-3', user: { name: 'o"hara', groups: [], uid: '7' } },
  ])
})

test('an error names the line and what was expected, and never shows a token', () => {
  const table = [
    ['s3cret,jane', /^tokens\.csv:1: expected token,user,uid/],
    ['a,b,c\ns3cret,jane,1,g,h', /^tokens\.csv:2: expected token,user,uid/],
    ['s3cret,,1', /expected the name of a user/],
    [',jane,1', /expected a token of visible ASCII/],
    ['s3 cret,jane,1', /expected a token of visible ASCII/],
    ['s3cret,"jane,1', /expected fields with commas between quotes/],
    ['s3cret,jane,1\ns3cret,bob,2', /^tokens\.csv:2: expected a token that no line above has/],
  ] as const
  for (const [text, message] of table) {
    assert.throws(
      () => parseTokenFile(text, 'tokens.csv'),
      (error) => error instanceof Error && message.test(error.message) && !error.message.includes('cret,'),
      text,
    )
  }
})

test('a file that is not there is an error that names it', async (t) => {
  const path = join(makeTemporaryFolder(t), 'tokens.csv')
  await assert.rejects(readTokenFile(path), { code: 'token-file-unreadable' })
  writeFileSync(path, 's3cret,jane,1\n')
  assert.equal((await readTokenFile(path)).length, 1)
})

test('a file that others may read or write is open to them', async (t) => {
  const file = join(makeTemporaryFolder(t), 'tokens.csv')
  writeFileSync(file, '')
  for (const [mode, isOpen] of [
    [0o600, false],
    [0o400, false],
    [0o640, true],
    [0o604, true],
    [0o620, true],
  ] as const) {
    chmodSync(file, mode)
    assert.equal(await isOpenToOthers(file), isOpen, mode.toString(8))
  }
})
