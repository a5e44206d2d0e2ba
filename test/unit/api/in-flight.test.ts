import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Flow } from '../../../src/api/shares/flow.ts'
import { InFlight } from '../../../src/api/shares/in-flight.ts'
import { StatusError } from '../../../src/api/status.ts'

const admin: Flow = { key: 'admin', level: 'admin' }
const one: Flow = { key: 'one', level: 'ordinary' }
const other: Flow = { key: 'other', level: 'ordinary' }
const isRefused = (error: unknown) =>
  error instanceof StatusError && error.httpCode === 429 && error.details?.retryAfterSeconds === 1

test('the write past the limit is a 429 that says when to come back; reads go on; slots are given back', async () => {
  const inFlight = new InFlight({ maxReads: 400, maxWrites: 200 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const writes = Array.from({ length: 200 }, () => inFlight.run('create', admin, () => promise))
  await assert.rejects(
    inFlight.run('delete', admin, async () => {}),
    isRefused,
  )
  assert.equal(await inFlight.run('list', admin, async () => 'read'), 'read')
  resolve()
  await Promise.all(writes)
  assert.equal(await inFlight.run('patch', admin, async () => 'write'), 'write')
  assert.deepEqual([inFlight.reads, inFlight.writes], [0, 0])
})

test('a flow that takes all slots it can get leaves slots to the next, and more to the system', async () => {
  const inFlight = new InFlight({ maxReads: 400, maxWrites: 200 })
  const { promise, resolve } = Promise.withResolvers<string>()
  const fill = async (flow: Flow) => {
    const held: Promise<string>[] = []
    for (;;) {
      const before = inFlight.writes
      const write = inFlight.run('create', flow, () => promise)
      if (inFlight.writes === before) {
        await assert.rejects(write, isRefused)
        return held
      }
      held.push(write)
    }
  }
  const ones = await fill(one)
  const others = await fill(other)
  const system = await fill({ key: 'system:node:n', level: 'system' })
  assert.deepEqual([ones.length, others.length, system.length], [75, 38, 44])
  resolve('done')
  await Promise.all([...ones, ...others, ...system])
  assert.equal(inFlight.writes, 0)
})

test('a read that waits holds no slot meanwhile, and waits not at all where its flow has too many waiting', async () => {
  const inFlight = new InFlight({ maxReads: 2, maxWrites: 2 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const wait = () => inFlight.run('list', one, (aside) => aside(() => promise))
  const waiting = Array.from({ length: 75 }, wait)
  assert.equal(inFlight.reads, 0)
  assert.equal(await wait(), 'too-many')
  assert.equal(await inFlight.run('list', one, async () => 'read'), 'read')
  resolve()
  const outcomes = await Promise.allSettled(waiting)
  assert.ok(outcomes.some((outcome) => outcome.status === 'fulfilled' && outcome.value === 'done'))
  assert.equal(inFlight.reads, 0)
})
