import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseNext, fairOrder, type WaitingWrite } from '../../../../src/node/proxy/write-order.ts'

const nowMs = 1_000_000

function write(service: string, lines: number, waitedMs = 0): WaitingWrite {
  return { service, lines, sinceMs: nowMs - waitedMs }
}

function order(...waiting: readonly WaitingWrite[]): readonly string[] {
  return fairOrder(waiting, nowMs).map(({ service }) => service)
}

test('a small Service goes before a large one, whichever came first', () => {
  assert.deepEqual(order(write('a/large', 90_000, 100), write('b/small', 10)), ['b/small', 'a/large'])
})

test('many Services of one namespace are not in the way of the one of another', () => {
  const many = Array.from({ length: 50 }, (_, index) => write(`a/s${index}`, 10))
  assert.equal(order(...many, write('b/web', 12)).indexOf('b/web'), 1)
})

test('a Service that has waited for long goes before smaller ones that came later', () => {
  const fresh = Array.from({ length: 5 }, (_, index) => write(`n${index}/mid`, 5_000))
  assert.equal(order(...fresh, write('a/large', 90_000, 60_000))[0], 'a/large')
})

test('a turn carries what fits, and a part of what fits in none', () => {
  const [small, mid, large] = [write('a/small', 10), write('b/mid', 4_000), write('c/large', 90_000)]
  assert.deepEqual(chooseNext([small, mid, large], 8_000), { whole: [small, mid], part: large, partLines: 3_990 })
  assert.deepEqual(
    chooseNext([mid, mid, large], 8_000),
    { whole: [mid, mid], part: undefined, partLines: 0 },
    'too little is left',
  )
  assert.deepEqual(chooseNext([small, large, mid], 4_005), { whole: [small], part: large, partLines: 3_995 })
  assert.deepEqual(
    chooseNext([small, mid], 4_005),
    { whole: [small], part: undefined, partLines: 3_995 },
    'it fits in the next',
  )
})
