import assert from 'node:assert/strict'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { recordType } from '../../../../src/node/dns/wire/codes.ts'
import { frameMessage } from '../../../../src/node/dns/wire/frames.ts'
import { makeQuery } from '../../../helpers/dns-messages.ts'
import { TestDnsServer } from '../../../helpers/dns-server.ts'
import { exampleServices } from '../../../helpers/dns-zone.ts'
import { FakeUpstream } from '../../../helpers/fake-upstream.ts'
import { mutateMessages } from '../../../helpers/fuzz-dns.ts'
import { answerBytes, questionBytes, seeAnswer } from '../../../helpers/upstream-messages.ts'

const canaryMs = 100
/** Beyond this, a hostile client keeps others out. */
const longestMs = 1_000
const web = 'web.default.svc.cluster.local'
const good = { addresses: ['192.0.2.7'] }
const forged = { addresses: ['203.0.113.66'] }

let upstream: FakeUpstream
let server: TestDnsServer
let attacker: Socket

before(async () => {
  upstream = await new FakeUpstream(({ bytes }) => [answerBytes(bytes, good)]).start()
  server = await new TestDnsServer({
    resolver: { targets: [upstream.target], forward: { readTimeoutMs: 2_000 } },
  }).start(exampleServices())
  attacker = createSocket('udp4')
  attacker.on('error', () => {})
  attacker.bind(0, '127.0.0.1')
  await once(attacker, 'listening')
})
after(async () => {
  attacker.close()
  await server.stop()
  await upstream.stop()
})

/** Runs what is hostile while a canary asks every 100 ms; the longest that it waited. */
async function withCanary(hostile: () => Promise<void>): Promise<number> {
  let longest = 0
  let isOver = false
  const canary = async () => {
    while (!isOver) {
      const startedMs = performance.now()
      const answer = await server.ask(makeQuery(web, recordType.A), 5_000)
      assert.ok(answer, 'the canary got no answer')
      longest = Math.max(longest, performance.now() - startedMs)
      await sleep(canaryMs)
    }
  }
  const singing = canary()
  await hostile()
  isOver = true
  await singing
  return longest
}

describe('a server among hostile clients', () => {
  test('answers others while 35,000 mutated datagrams come in, and no thread ends', async (t) => {
    const longest = await withCanary(async () => {
      let sent = 0
      for (const mutant of mutateMessages(35_000, 3)) {
        attacker.send(mutant, server.port, '127.0.0.1')
        sent += 1
        if (sent % 500 === 0) await sleep(10)
      }
    })
    t.diagnostic(`the canary waited ${longest.toFixed(0)} ms at most`)
    assert.ok(longest < longestMs, `the canary waited ${longest} ms`)
    assert.deepEqual(
      server.lines.filter((line) => /ended|panic/.test(line)),
      [],
    )
  })

  test('answers others while connections send empty frames, halves of frames and garbage', async (t) => {
    const shapes = [
      Buffer.alloc(60_000),
      Buffer.of(255, 255, 1),
      frameMessage(Buffer.alloc(12)),
      Buffer.alloc(4_000, 7),
    ]
    const longest = await withCanary(async () => {
      for (let round = 0; round < 200; round += 1) {
        const socket = connect(server.port, '127.0.0.1')
        socket.on('error', () => {})
        socket.write(shapes[round % shapes.length] ?? Buffer.alloc(0))
        if (round % 20 === 0) await sleep(10)
      }
    })
    t.diagnostic(`the canary waited ${longest.toFixed(0)} ms at most`)
    assert.ok(longest < longestMs, `the canary waited ${longest} ms`)
  })

  test('accepts no forged answer: neither a correct one from another address nor a guessed one from the right address', async () => {
    let guesses = 0
    const { asked } = upstream
    upstream.script = async ({ bytes, name, over, port }) => {
      const real = answerBytes(bytes, good)
      if (over === 'tcp') return [real]
      attacker.send(answerBytes(bytes, forged), port, '127.0.0.1')
      const wrong = Array.from({ length: 100 }, (_, index) => {
        const guess = answerBytes(
          questionBytes(name, { id: (bytes.readUInt16BE(0) + 1 + index * 631) & 0xffff }),
          forged,
        )
        guesses += 1
        return guess
      })
      await sleep(5)
      // Now and then the attacker has port and ID right, and only the case is wrong.
      const near =
        asked.length % 3 === 0 ? [answerBytes(questionBytes(name, { id: bytes.readUInt16BE(0) }), forged)] : []
      return [...wrong, ...near, real]
    }
    for (let round = 0; round < 100; round += 1) {
      const name = `n${round}.with-letters-to-guess.example.com.`
      for (let count = 0; count < 2; count += 1) {
        const answer = await server.ask(makeQuery(name, recordType.A))
        assert.deepEqual(answer && seeAnswer(answer).records.map((record) => record.split(' ')[1]), ['192.0.2.7'], name)
      }
    }
    assert.ok(guesses >= 10_000)
  })
})
