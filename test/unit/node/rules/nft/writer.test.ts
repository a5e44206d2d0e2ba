import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { NftError } from '../../../../../src/host/index.ts'
import type { ElementRuleset } from '../../../../../src/netfilter/nft/element-ruleset.ts'
import { lowerToElements } from '../../../../../src/netfilter/nft/lower-elements.ts'
import { parseStateComment } from '../../../../../src/netfilter/nft/render-change.ts'
import { RulesError } from '../../../../../src/node/rules/index.ts'
import { FakeNft } from '../../../../helpers/fake-nft.ts'
import { makeFrontend } from '../../../../helpers/frontends.ts'
import {
  NftWriterLab,
  objects,
  nftSettings as settings,
  twoServices as two,
} from '../../../../helpers/nft-writer-lab.ts'

describe('the first write', () => {
  test('makes the table with its elements, then the state', async () => {
    const lab = new NftWriterLab()
    assert.equal(await lab.writer.isUnhooked(), true)
    const report = await lab.set(two)
    assert.deepEqual(
      lab.kernel.transactions.map(({ by }) => by),
      ['program', 'elements', 'elements'],
      'rules go through a program, the elements and the state follow',
    )
    assert.equal(report.kind, 'written')
    assert.equal(report.elements?.added, lab.wanted().length - 1)
    lab.assertInKernel()
    assert.equal(parseStateComment(lab.kernel.table?.comment ?? '')?.version, lab.ruleset.table.version)
    assert.equal(lab.writer.health().level, 'ok')
  })

  test('sends elements as messages, and as text what cannot be encoded', async () => {
    const lab = new NftWriterLab()
    lab.kernel.confirms = true
    const many = Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`default/s${n}`, [`10.244.1.${n}`]] as const))
    const large = Array.from({ length: 257 }, (_, n) => `10.244.${2 + (n >> 8)}.${n & 255}`)
    const report = await lab.set({ ...many, 'default/large': large })
    const texts = lab.kernel.transactions.map(({ text }) => text.match(/^add element ip platnet \S+/gm) ?? [])
    assert.deepEqual(texts, [
      [],
      ['add element ip platnet addresses', 'add element ip platnet endpoints'],
      ['add element ip platnet state', 'add element ip platnet state'],
    ])
    assert.equal(lab.kernel.committed.length, 1)
    assert.equal(report.elements?.added, lab.wanted().length - 1)
    assert.deepEqual([lab.kernel.elements().length, report.kind], [lab.wanted().length, 'written'])
    lab.assertInKernel()
  })

  test('sends as text what the kernel has not confirmed, and all that follows', async () => {
    const lab = new NftWriterLab()
    lab.kernel.confirms = true
    const commit = lab.kernel.commit.bind(lab.kernel)
    let calls = 0
    lab.kernel.commit = (messages) => ++calls === 1 && commit(messages)
    const addresses = Array.from({ length: 60 }, (_, n) => `10.244.0.${n}`)
    const services = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`default/s${n}`, addresses] as const))
    await lab.set(services)
    assert.deepEqual([lab.kernel.committed.length, calls], [1, 3], 'the second piece fails, and the state')
    assert.equal(lab.kernel.elements().length, lab.wanted().length)
    lab.assertInKernel()
  })

  test('hands the kernel one piece at a time, and prepares the next one meanwhile', async () => {
    const lab = new NftWriterLab()
    lab.kernel.confirms = true
    const steps: string[] = []
    const additions = lab.ruleset.additions.bind(lab.ruleset)
    lab.ruleset.additions = function* () {
      yield* additions()
      steps.push('all are prepared')
    }
    lab.kernel.commitApart = async (messages) => {
      steps.push('begun')
      await setImmediate()
      steps.push('taken')
      return lab.kernel.commit(messages)
    }
    const addresses = Array.from({ length: 60 }, (_, n) => `10.244.0.${n}`)
    await lab.set(Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`default/s${n}`, addresses] as const)))
    assert.deepEqual(steps, ['begun', 'all are prepared', 'taken', 'begun', 'taken'])
    lab.assertInKernel()
  })

  test('after a restart with the same objects writes nothing and lists no elements of Services', async () => {
    const before = new NftWriterLab()
    await before.set(two)
    const after = new NftWriterLab(before.kernel)
    const [written, lists] = [before.kernel.transactions.length, before.kernel.lists]
    assert.equal(await after.writer.recognises(objects(JSON.stringify(two))), true)
    assert.equal((await after.set(two)).kind, 'unchanged')
    assert.equal(before.kernel.transactions.length, written)
    assert.ok(before.kernel.lists - lists <= 2, 'only the map that draws')
    await after.set({ 'default/a': ['10.244.0.9'] })
    assert.equal(before.kernel.transactions.length, written + 1, 'the next change is one transaction')
    after.assertInKernel()
  })

  test('after a restart with other objects writes what differs', async () => {
    const before = new NftWriterLab()
    await before.set(two)
    const after = new NftWriterLab(before.kernel)
    assert.equal(await after.writer.recognises(objects('others')), false)
    const report = await after.set({ ...two, 'default/b': ['10.244.0.4'] })
    assert.deepEqual(report.elements, { added: 2, removed: 2 })
    after.assertInKernel()
  })

  test('with rules of another version takes their place in one transaction that keeps the clients', async () => {
    const before = new NftWriterLab(new FakeNft(), { masqueradeBit: 20 })
    await before.set(two)
    const after = new NftWriterLab(before.kernel)
    const from = before.kernel.transactions.length
    await after.set(two, 'other settings')
    const [first, ...more] = before.kernel.transactions.slice(from)
    assert.match(first?.text ?? '', /^flush table ip platnet\ntable ip platnet \{/)
    assert.deepEqual(
      more.map(({ by }) => by),
      ['elements'],
    )
    assert.ok(before.kernel.table?.rules.some((rule) => rule.includes('0x4000')))
    assert.ok(!before.kernel.table?.rules.some((rule) => rule.includes('0x100000')))
  })

  test('replaces a table that takes no such rules, or has chains of others, as a whole and at once', async () => {
    const before = new NftWriterLab()
    await before.set(two)
    before.kernel.table?.rules.push('\tchain foreign {', '\t}')
    const after = new NftWriterLab(before.kernel, { masqueradeBit: 20 })
    await after.set(two, 'other settings')
    const replaced = before.kernel.transactions.find(({ text }) => text.startsWith('add table'))
    assert.match(replaced?.text ?? '', /^add table ip platnet\ndelete table ip platnet\ntable ip platnet \{/)
    assert.match(replaced?.text ?? '', /add element ip platnet endpoints \{/, 'never a moment without elements')
    assert.ok(!before.kernel.table?.rules.some((rule) => rule.includes('foreign')))
    after.assertInKernel()
  })

  test('of many Services comes in slices, each Service whole', async () => {
    const lab = new NftWriterLab()
    const many = Array.from({ length: 8000 }, (_, index) => [
      `default/s${index}`,
      [`10.244.${index >> 8}.${index & 255}`, `10.245.${index >> 8}.${index & 255}`],
    ])
    const lowered = many.map(([key, addresses]) => {
      const index = Number(String(key).slice('default/s'.length))
      const frontend = makeFrontend(String(key), `10.96.${index >> 8}.${index & 255}`, addresses as string[])
      return [String(key), lowerToElements([frontend], settings)] as const
    })
    await lab.writer.write(lab.ruleset.update(new Map(lowered)), objects('many'))
    const programs = lab.kernel.transactions.filter(({ by }) => by === 'program')
    assert.equal(programs.length, 1, 'only the first has rules')
    assert.ok(lab.kernel.transactions.length > 2)
    lab.assertInKernel()
    for (const { text } of lab.kernel.transactions.slice(0, -1))
      assert.equal(text.includes('state {'), text.includes('set state {'), 'no part of it carries the state')
  })
})

describe('a change', () => {
  test('is one transaction of elements with the state of its objects', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    const from = lab.kernel.transactions.length
    await lab.set({ 'default/a': ['10.244.0.1', '10.244.0.9'] }, 'next')
    const [only, ...more] = lab.kernel.transactions.slice(from)
    assert.equal(more.length, 0)
    assert.equal(only?.by, 'elements')
    assert.match(only?.text ?? '', /comment "version \w+ objects \w+ listing \w{16}"/)
    lab.assertInKernel()
    assert.equal(await new NftWriterLab(lab.kernel).writer.recognises(objects('next')), true)
  })

  test('that needs more rules brings them, and the elements stay', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    const from = lab.kernel.transactions.length
    const crowd = Array.from({ length: 200 }, (_, index) => `10.244.1.${index}`)
    await lab.set({ ...two, 'default/a': crowd })
    const texts = lab.kernel.transactions.slice(from)
    assert.match(texts[0]?.text ?? '', /^flush table/)
    assert.match(texts[0]?.text ?? '', /chain draw-256/)
    lab.assertInKernel()
  })

  test('that the kernel refuses because others changed elements is written by what the kernel holds', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    lab.kernel.table?.sets.get('endpoints')?.clear()
    await lab.set({ 'default/a': ['10.244.0.1', '10.244.0.9'] })
    lab.assertInKernel()
  })

  test('that fails is kept, and comes with the next write', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    lab.kernel.failures.push(new NftError('unavailable', 'no program'))
    await assert.rejects(lab.set({ 'default/a': ['10.244.0.7'] }), { code: 'not-found' })
    assert.equal(lab.writer.health().level, 'degraded')
    assert.equal(await lab.writer.recognises(objects(JSON.stringify({ 'default/a': ['10.244.0.7'] }))), false)
    await lab.writer.write({ changes: [] }, objects('again'))
    lab.assertInKernel()
    assert.equal(lab.writer.health().level, 'ok')
  })

  test('of which it is not known whether it was carried out is compared and completed', async () => {
    for (const isDone of [false, true]) {
      const lab = new NftWriterLab()
      await lab.set(two)
      lab.kernel.isDoneAllTheSame = isDone
      lab.kernel.failures.push(new NftError('uncertain', 'killed'))
      await assert.rejects(lab.set({ 'default/a': ['10.244.0.7'] }), { code: 'uncertain' })
      await lab.writer.write({ changes: [] }, objects('again'))
      lab.assertInKernel()
    }
  })

  test('with an element that the kernel takes in no way is refused with that element, and leaves the others', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    const held = lab.kernel.elements()
    lab.kernel.poison = /10\.244\.0\.66/
    const refused = lab.set({ 'default/a': ['10.244.0.66'] })
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof RulesError)
      assert.equal(error.code, 'restore-failed')
      assert.match(error.line?.text ?? '', /10\.244\.0\.66/)
      return true
    })
    assert.deepEqual(lab.kernel.elements(), held)
    await lab.set({ 'default/a': ['10.244.0.5'] })
    lab.assertInKernel()
  })
})

describe('a comparison', () => {
  test('does not take what a failed write left for something that others changed, and writes it', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    lab.kernel.failures.push(new NftError('unavailable', 'no program'))
    await assert.rejects(lab.set({ 'default/a': ['10.244.0.7'] }), { code: 'not-found' })
    const report = await lab.writer.verify()
    assert.deepEqual(report.drift, [])
    assert.equal(report.write.kind, 'written')
    assert.deepEqual(lab.warnings, [])
    lab.assertInKernel()
  })

  const damages: Readonly<Record<string, (lab: NftWriterLab) => void>> = {
    'an element that is gone': ({ kernel }) => void kernel.table?.sets.get('endpoints')?.clear(),
    'an element that leads elsewhere': ({ kernel }) => {
      const endpoints = kernel.table?.sets.get('endpoints')
      for (const key of endpoints?.keys() ?? []) endpoints?.set(key, '192.0.2.66 . 80')
    },
    'an element too many': ({ kernel }) => void kernel.table?.sets.get('refuse')?.set('10.96.0.1 . tcp . 80', ''),
    'a range that is no network': ({ kernel }) =>
      void kernel.table?.sets.get('admitted')?.set('10.96.0.1 . tcp . 80 . 10.0.0.1-10.0.0.6', ''),
    'rules that were flushed': ({ kernel }) => void kernel.table?.rules.splice(5),
    'a rule too many': ({ kernel }) => void kernel.table?.rules.push('\t\tdrop'),
    'a chain of others': ({ kernel }) => void kernel.table?.rules.push('\tchain foreign {', '\t}'),
    'a number without its chain': ({ kernel }) => void kernel.table?.sets.get('draw')?.delete('0:2'),
    'a table that is gone': ({ kernel }) => {
      kernel.table = undefined
    },
  }
  for (const [name, damage] of Object.entries(damages))
    test(`repairs ${name}, says so, and finds nothing afterwards`, async () => {
      const lab = new NftWriterLab()
      await lab.set(two)
      const rules = [...(lab.kernel.table?.rules ?? [])]
      const draw = lab.kernel.table?.sets.get('draw')?.size
      damage(lab)
      assert.ok((await lab.writer.preview()).length > 0)
      const report = await lab.writer.verify()
      assert.ok(report.drift.length > 0)
      assert.equal(lab.warnings.length, report.drift.length)
      lab.assertInKernel()
      assert.deepEqual(lab.kernel.table?.rules, rules)
      assert.equal(lab.kernel.table?.sets.get('draw')?.size, draw)
      assert.deepEqual((await lab.writer.verify()).drift, [])
      assert.deepEqual(await lab.writer.preview(), [])
      assert.equal(await lab.writer.recognises(objects(JSON.stringify(two))), true)
    })

  test('writes the state where others removed it', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    const table = lab.kernel.table ?? assert.fail()
    const { comment } = table
    table.comment = undefined
    assert.deepEqual(
      (await lab.writer.verify()).drift.map(({ set }) => set),
      ['state'],
    )
    assert.equal(lab.kernel.table?.comment, comment)
    assert.deepEqual((await lab.writer.verify()).drift, [])
  })

  test('is made also while other programs write to their tables all the time', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    lab.kernel.isBusy = true
    const written = lab.kernel.transactions.length
    assert.deepEqual((await lab.writer.verify()).drift, [])
    assert.equal(lab.kernel.transactions.length, written)
    lab.kernel.table?.sets.get('endpoints')?.clear()
    assert.equal((await lab.writer.verify()).drift.length, 1)
    lab.assertInKernel()
  })

  test('of equal state writes nothing, and one of some sets reads only these', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    const [written, lists] = [lab.kernel.transactions.length, lab.kernel.lists]
    const endpoints = lab.ruleset.table.sets.filter(({ name }) => name === 'endpoints')
    assert.deepEqual((await lab.writer.verify(endpoints)).drift, [])
    assert.equal(lab.kernel.lists, lists + 1)
    assert.equal(lab.kernel.transactions.length, written)
  })

  test('does not take a change that is on its way for one of others', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    const change = lab.ruleset.update(new Map([['default/a', undefined]]))
    assert.deepEqual((await lab.writer.verify()).drift, [])
    await lab.writer.write(change, objects('less'))
    lab.assertInKernel()
  })

  test('that a change overtakes while it reads writes nothing, and that change repairs', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    lab.kernel.table?.sets.get('endpoints')?.clear()
    const written = lab.kernel.transactions.length
    let [lists, change] = [0, undefined as ReturnType<ElementRuleset['update']> | undefined]
    lab.kernel.beforeList = (set) => {
      // The first list shows that there is something to repair.
      if (set === 'endpoints' && ++lists === 2) change = lab.ruleset.update(new Map([['default/b', undefined]]))
    }
    assert.deepEqual((await lab.writer.verify()).drift, [])
    assert.equal(lab.kernel.transactions.length, written)
    await lab.writer.write(change ?? assert.fail('no list of the repair'), objects('less'))
    lab.assertInKernel()
  })

  test('is not made before the first write', async () => {
    const lab = new NftWriterLab()
    assert.deepEqual((await lab.writer.verify()).drift, [])
    await assert.rejects(lab.writer.preview(), { code: 'not-synced' })
  })
})

describe('where elements cannot be listed', () => {
  function blindKernel() {
    const kernel = new FakeNft()
    kernel.listsElements = false
    return kernel
  }

  test('the table is written, changed and recognised all the same', async () => {
    const lab = new NftWriterLab(blindKernel())
    await lab.set(two)
    await lab.set({ 'default/a': ['10.244.0.9'] }, 'next')
    lab.assertInKernel()
    assert.equal(lab.writer.health().level, 'ok')
    assert.equal(await new NftWriterLab(lab.kernel).writer.recognises(objects('next')), true)
  })

  test('a comparison repairs rules and the state, and takes the elements for right', async () => {
    const lab = new NftWriterLab(blindKernel())
    await lab.set(two)
    const written = lab.kernel.transactions.length
    assert.deepEqual((await lab.writer.verify()).drift, [])
    assert.deepEqual((await lab.writer.verify(lab.ruleset.table.sets)).drift, [])
    assert.deepEqual(await lab.writer.preview(), [])
    assert.equal(lab.kernel.transactions.length, written)
    lab.kernel.table?.rules.push('\t\tdrop')
    assert.equal((await lab.writer.preview()).length, 1)
    assert.equal((await lab.writer.verify()).drift.length, 1)
    lab.assertInKernel()
    assert.deepEqual((await lab.writer.verify()).drift, [])
  })

  test('a start with other objects replaces the table in one transaction', async () => {
    const before = new NftWriterLab(blindKernel())
    await before.set(two)
    const after = new NftWriterLab(before.kernel)
    const from = before.kernel.transactions.length
    await after.set({ 'default/a': ['10.244.0.9'] })
    const texts = before.kernel.transactions.slice(from).map(({ text }) => text)
    assert.match(texts[0] ?? '', /^add table \S+ platnet\ndelete table/)
    after.assertInKernel()
  })
})
