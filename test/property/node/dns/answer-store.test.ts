import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { AnswerStore } from '../../../../src/node/dns/plugins/cache/answer-store.ts'
import { encodeName } from '../../../../src/node/dns/wire/name.ts'
import { parsedQuery } from '../../../helpers/dns-messages.ts'
import { answerBytes, questionBytes } from '../../../helpers/upstream-messages.ts'

const blockBytes = 192
/** Names of one block and of two: the question of the last ones does not fit in the first block of a message. */
const names = Array.from(
  { length: 12 },
  (_, index) => `${index % 4 === 3 ? `${'x'.repeat(60)}.`.repeat(3) : ''}n${index}.example.`,
)

interface Kept {
  readonly message: Buffer
  readonly storedAtMs: number
  readonly mark: number
}

const anyStep = fc.record({
  name: fc.nat(names.length - 1),
  upper: fc.boolean(),
  action: fc.constantFrom('put', 'use', 'delete'),
  addresses: fc.nat(40),
  mark: fc.nat(255),
})

/** A list with the least recently used first, which drops from the front. */
class Model {
  readonly kept = new Map<string, Kept>()
  evictions = 0

  put(name: string, kept: Kept, room: { readonly entries: number; readonly blocks: number }): void {
    this.kept.delete(name)
    const blocks = blocksOf(kept.message)
    if (blocks > room.blocks) return
    while (this.kept.size >= room.entries || this.blocks + blocks > room.blocks) {
      this.kept.delete([...this.kept.keys()][0] ?? '')
      this.evictions += 1
    }
    this.kept.set(name, kept)
  }

  use(name: string): void {
    const kept = this.kept.get(name)
    this.kept.delete(name)
    if (kept !== undefined) this.kept.set(name, kept)
  }

  get blocks(): number {
    return [...this.kept.values()].reduce((sum, { message }) => sum + blocksOf(message), 0)
  }
}

function blocksOf(message: Buffer): number {
  return 1 + Math.max(0, Math.ceil((message.length - 128) / 188))
}

describe('the store of cached answers', () => {
  test('holds what was put last, and drops the least recently used first, within its entries and bytes', () => {
    const anyRoom = fc.record({ entries: fc.integer({ min: 1, max: 12 }), blocks: fc.integer({ min: 1, max: 90 }) })
    fc.assert(
      fc.property(anyRoom, fc.array(anyStep, { maxLength: 60 }), (room, steps) => {
        const model = new Model()
        let evictions = 0
        const store = new AnswerStore({ entries: room.entries, bytes: (room.blocks + 1) * blockBytes }, () => {
          evictions += 1
        })
        for (const [index, step] of steps.entries()) {
          performBoth(store, model, { ...step, name: names[step.name] ?? '', index, room })
          compare(store, model)
        }
        assert.equal(evictions, model.evictions)
      }),
    )
  })

  test('tells questions apart by type, class, DO and CD, also types that differ like letters in case', () => {
    const store = new AnswerStore({ entries: 100, bytes: 100_000 })
    const shapes = [
      questionBytes('a.example.', { type: 'A' }),
      questionBytes('a.example.', { type: 'AAAA' }),
      questionBytes('a.example.', { type: 'HTTPS' }),
      questionBytes('a.example.', { type: 'A', flags: 0x0110 }),
      withType(questionBytes('a.example.', { type: 'HTTPS' }), 65 | 0x20),
    ]
    for (const [index, bytes] of shapes.entries())
      store.put(parsedQuery(bytes), bytes, { storedAtMs: index, expiresAtMs: index })
    for (const [index, bytes] of shapes.entries()) assert.equal(store.storedAtMs(store.find(parsedQuery(bytes))), index)
    assert.equal(store.size, shapes.length)
  })

  test('the longest name and the longest message come back whole', () => {
    const store = new AnswerStore({ entries: 10, bytes: 1_000_000 })
    const name = `${`${'y'.repeat(63)}.`.repeat(3)}${'z'.repeat(61)}.`
    assert.equal(encodeName(name).length, 255)
    const question = questionBytes(name)
    const message = Buffer.concat([question, Buffer.alloc(65_535 - question.length, 7)])
    store.put(parsedQuery(question), message, { storedAtMs: 1, expiresAtMs: 2 })
    const out = Buffer.alloc(65_535)
    assert.equal(store.copy(store.find(parsedQuery(questionBytes(name.toUpperCase()))), out), 65_535)
    assert.deepEqual(out, message)
    const part = Buffer.alloc(4096)
    assert.equal(store.copy(store.find(parsedQuery(question)), part), 4096)
    assert.deepEqual(part, message.subarray(0, 4096))
  })
})

interface Step {
  readonly action: string
  readonly name: string
  readonly upper: boolean
  readonly index: number
  readonly addresses: number
  readonly mark: number
  readonly room: { readonly entries: number; readonly blocks: number }
}

function performBoth(store: AnswerStore, model: Model, step: Step): void {
  const { action, name, upper, index } = step
  const entry = store.find(parsedQuery(questionBytes(upper ? name.toUpperCase() : name)))
  assert.equal(entry !== 0, model.kept.has(name), `step ${index}`)
  if (action === 'put') return void putBoth(store, model, step)
  if (entry === 0) return
  if (action === 'use') {
    store.use(entry)
    model.use(name)
  } else {
    store.delete(entry)
    model.kept.delete(name)
  }
}

function putBoth(store: AnswerStore, model: Model, { name, upper, index, addresses, mark, room }: Step): void {
  const texts = Array.from({ length: addresses }, (_, number) => `192.0.2.${number}`)
  const message = answerBytes(questionBytes(name), { addresses: texts })
  const query = parsedQuery(questionBytes(upper ? name.toUpperCase() : name))
  store.put(query, message, { storedAtMs: index, expiresAtMs: index + 0.5 }, mark)
  model.put(name, { message, storedAtMs: index, mark }, room)
}

function withType(bytes: Buffer, type: number): Buffer {
  const at = 12 + encodeName('a.example.').length
  bytes.writeUInt16BE(type, at)
  return bytes
}

function compare(store: AnswerStore, model: Model): void {
  assert.equal(store.size, model.kept.size)
  assert.equal(store.bytes, model.blocks * blockBytes)
  for (const [name, { message, storedAtMs, mark }] of model.kept) {
    const entry = store.find(parsedQuery(questionBytes(name)))
    const out = Buffer.alloc(message.length + 1)
    assert.equal(store.copy(entry, out), message.length)
    assert.deepEqual(out.subarray(0, message.length), message)
    assert.deepEqual(
      [store.storedAtMs(entry), store.expiresAtMs(entry), store.mark(entry)],
      [storedAtMs, storedAtMs + 0.5, mark],
    )
  }
}
