import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { findProcess } from '../../../../src/host/index.ts'
import { HaproxyLab, haproxySkipReason, wholeChange } from '../../../helpers/haproxy-lab.ts'
import { withNetns } from '../../../helpers/netns.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'

const program = resolve(import.meta.dirname, 'haproxy-cleanup.program.ts')

test('cleanup ends each haproxy of this network namespace with its files, and none of another one', {
  skip: haproxySkipReason(),
}, async () => {
  await using outside = await HaproxyLab.create()
  const table = routingTable({ 'a.example.com': { prefix: ['/'] } })
  await outside.driver.apply(table, wholeChange(table))
  await withNetns(async (lab) => {
    const netns = await lab.create()
    await netns.exec('ip', 'link', 'set', 'lo', 'up')
    const { stdout } = await netns.run(process.execPath, [program], { timeoutMs: 60_000 })
    const { folders, masters, lines, again } = JSON.parse(stdout)
    assert.deepEqual(lines.sort(), folders.map((folder: string) => `ended the haproxy of ${folder}`).sort())
    assert.deepEqual(again, [])
    for (const folder of folders) assert.equal(existsSync(folder), false)
    for (const pid of masters) assert.equal(findProcess(pid), undefined)
  })
  assert.ok(findProcess((await outside.processes()).master))
})
