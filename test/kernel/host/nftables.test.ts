import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../src/demo/isolate.ts'
import { skipReason } from '../../helpers/netns.ts'

const failure = z.object({
  code: z.string(),
  reason: z.string(),
  command: z.string().optional(),
  element: z.string().optional(),
})
const listing = z.object({
  before: z.tuple([z.boolean(), z.null()]),
  ends: z.array(z.string()),
  missing: z.string(),
  isEqual: z.boolean(),
  isFound: z.boolean(),
  count: z.number(),
  comment: z.string(),
  hasTable: z.boolean(),
})
const session = z.object({
  kind: z.string(),
  written: z.string(),
  programsToWrite: z.number(),
  refused: failure,
  unknownSet: failure,
  invalid: z.array(z.string()),
  seen: z.array(z.object({ isOwn: z.boolean(), isNft: z.boolean(), changes: z.array(z.string()) })),
  large: z.string(),
  counts: z.array(z.number()),
  emptied: z.string(),
})
const seenSchema = z.object({
  lists: z.array(listing),
  draws: z.array(z.string()),
  duringChanges: z.string(),
  sessions: z.array(session),
  objects: z.array(z.object({ isOwn: z.boolean(), places: z.array(z.string()) })),
  refusedRules: failure,
  unavailable: failure,
  gaps: z.number(),
})

const skip = skipReason('nft', 'perl', 'unshare', 'setpriv')

describe('nftables, in a network and a pid namespace of its own', { skip, timeout: 120_000 }, () => {
  let seen: z.infer<typeof seenSchema>

  before(async () => {
    const program = path.join(import.meta.dirname, 'nftables.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(110_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, stdout)
    seen = seenSchema.parse(JSON.parse(stdout))
  })

  test('the list of the kernel is what was written, for every kind of Service in both families', () => {
    for (const { before: first, ends, missing, isEqual, isFound, count, comment, hasTable } of seen.lists) {
      assert.deepEqual(first, [false, null])
      assert.deepEqual(ends, ['complete'])
      assert.equal(missing, 'missing')
      assert.ok(isEqual && isFound && count > 500)
      assert.match(comment, /^version [\da-f]{16} objects ab listing cd$/)
      assert.ok(hasTable)
    }
    assert.equal(seen.lists.length, 2)
  })

  test('a list says that the tables changed while it was made', () => assert.equal(seen.duringChanges, 'changed'))

  test('verdict maps are listed with their chains', () => {
    assert.equal(seen.draws.length, 256)
    assert.ok(seen.draws.includes('0:3 jump draw-3'))
  })

  for (const [index, kind] of ['library', 'interactive', 'program'].entries()) {
    const found = () => seen.sessions[index] ?? assert.fail(kind)

    test(`${kind}: elements are written, also more than it takes at once, and sets emptied`, () => {
      const { written, large, emptied, programsToWrite, counts } = found()
      assert.equal(found().kind, kind)
      assert.deepEqual([written, large, emptied], ['done', 'done', 'done'])
      assert.equal(programsToWrite, kind === 'program' ? 1 : 0)
      assert.deepEqual(counts, [65_001, 1])
    })

    test(`${kind}: a refused transaction names command and element, and nothing of it stands`, () => {
      assert.deepEqual(found().refused, {
        code: 'refused',
        reason: 'Could not process rule: No such file or directory',
        command: 'delete element ip platnet addresses',
        element: '10.9.0.3 . tcp . 80',
      })
      assert.equal(found().unknownSet.command, 'add element ip platnet none')
      assert.equal(found().counts[1], 1)
    })

    test(`${kind}: rules, several commands in a line and zero bytes are not run`, () => {
      assert.deepEqual(found().invalid, ['invalid', 'invalid', 'invalid'])
    })

    test(`${kind}: the monitor names the elements that change, and the session knows its own commits`, () => {
      const changes = ['addresses 10.9.9.9 . udp . 53']
      assert.deepEqual(found().seen, [
        { isOwn: true, isNft: kind !== 'library', changes },
        { isOwn: false, isNft: true, changes },
      ])
    })
  }

  test('the monitor names tables, chains and sets, but no sets of other tables', () => {
    const named = seen.objects.map(({ places }) => places)
    assert.deepEqual(named.slice(0, 3), [['xother  '], ['platnet extra '], ['platnet  extra']])
    assert.ok(named[3]?.includes('platnet  extra') && named[3].includes('platnet extra '))
    assert.ok(seen.objects.every(({ isOwn }) => isOwn))
    assert.equal(seen.gaps, 1)
  })

  test('refused rules and a missing program have codes of their own', () => {
    assert.equal(seen.refusedRules.code, 'refused')
    assert.equal(seen.refusedRules.element, 'add rule ip x y accept')
    assert.deepEqual(seen.unavailable, { code: 'unavailable', reason: 'the program is missing' })
  })
})
