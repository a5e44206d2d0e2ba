import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { flag, rcode, recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { encodeName } from '../../../../../src/node/dns/wire/name.ts'
import { Query } from '../../../../../src/node/dns/wire/query.ts'
import { type DnsRecord, makeRecord, txtData } from '../../../../../src/node/dns/wire/record.ts'
import { writeReply } from '../../../../../src/node/dns/wire/response.ts'
import { ipOf } from '../../../../helpers/addresses.ts'
import { startCorefileServer } from '../../../../helpers/corefile-server.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { askUdp, type ServerShape, TestDnsServer } from '../../../../helpers/dns-server.ts'
import { type Asked, FakeUpstream, type Script } from '../../../../helpers/fake-upstream.ts'
import { findFreePort } from '../../../../helpers/free-port.ts'
import { watchStartedThreads } from '../../../../helpers/started-threads.ts'
import { until, untilAsync } from '../../../../helpers/until.ts'
import { answerBytes, seeAnswer } from '../../../../helpers/upstream-messages.ts'

const patientMs = 30_000

async function upstream(context: TestContext, script: Script): Promise<FakeUpstream> {
  const made = await new FakeUpstream(script).start()
  context.after(() => made.stop())
  return made
}

async function serve(context: TestContext, shape: ServerShape): Promise<TestDnsServer> {
  const server = new TestDnsServer(shape)
  context.after(() => server.stop())
  return server.start()
}

const says =
  (address: string): Script =>
  ({ bytes }) => [answerBytes(bytes, { addresses: [address] })]

/** Asks from a port of its own, so that the kernel chooses one of the serving threads. */
async function addressesOf(name: string, port: number): Promise<readonly string[]> {
  const answer = await askUdp(makeQuery(name, recordType.A), port, patientMs)
  assert.ok(answer, `${name} is answered`)
  return seeAnswer(answer).records
}

function replyWith({ bytes }: Asked, answer: readonly DnsRecord[]): Buffer {
  const query = new Query()
  query.parse(bytes, bytes.length)
  const out = Buffer.alloc(65_535)
  const reply = { rcode: rcode.NOERROR, flags: flag.RA, answer, authority: [], additional: [] }
  return Buffer.from(out.subarray(0, writeReply(query, reply, out, out.length)))
}

test('both serving threads forward, and what one of them has asked is cached for both', async (context) => {
  const server = await upstream(context, says('192.0.2.7'))
  const { port } = await serve(context, { resolver: { targets: [server.target] } })
  const names = Array.from({ length: 20 }, (_, index) => `n${index}.example.com.`)
  for (const round of [1, 2, 3])
    for (const found of await Promise.all(names.map((name) => addressesOf(name, port))))
      assert.match(found.join(), /^A 192\.0\.2\.7 \d+$/, `round ${round}`)
  assert.deepEqual(server.names.toSorted(), names.toSorted())
})

test('server blocks on one port and on others forward to their own upstreams, the longest zone first', async (context) => {
  const [outer, inner, other] = [
    await upstream(context, says('192.0.2.1')),
    await upstream(context, says('192.0.2.2')),
    await upstream(context, says('192.0.2.3')),
  ]
  const [port, otherPort] = [await findFreePort(), await findFreePort()]
  const text = `.:${port} {
  bind 127.0.0.1
  forward . 127.0.0.1:${outer.port}
}
corp.example:${port} {
  bind 127.0.0.1
  forward corp.example 127.0.0.1:${inner.port} {
    except public.corp.example
  }
  forward . 127.0.0.1:${outer.port}
}
.:${otherPort} {
  bind 127.0.0.1
  forward . 127.0.0.1:${other.port} {
    prefer_udp
    max_fails 0
    health_check 1s no_rec domain health.example
  }
}
`
  await startCorefileServer(context, { text })
  assert.deepEqual(await addressesOf('www.example.com.', port), ['A 192.0.2.1 60'])
  assert.deepEqual(await addressesOf('www.corp.example.', port), ['A 192.0.2.2 60'])
  assert.deepEqual(await addressesOf('www.public.corp.example.', port), ['A 192.0.2.1 60'])
  assert.deepEqual(await addressesOf('www.corp.example.', otherPort), ['A 192.0.2.3 60'])
})

test('fifteen upstreams in turns are each asked', async (context) => {
  const servers = await Promise.all(Array.from({ length: 15 }, () => upstream(context, says('192.0.2.7'))))
  const targets = servers.map(({ target }) => target)
  const { port } = await serve(context, { resolver: { targets, forward: { policy: 'round_robin' } } })
  for (let index = 0; index < 30; index += 1) await addressesOf(`n${index}.example.com.`, port)
  assert.deepEqual(
    servers.map(({ asked }) => asked.length),
    servers.map(() => 2),
  )
})

test('names of a resolver file go to the servers that it names now', async (context) => {
  const [before, after] = [await upstream(context, says('192.0.2.1')), await upstream(context, says('192.0.2.2'))]
  const server = await serve(context, { resolver: { targets: [before.target] } })
  assert.deepEqual(await addressesOf('one.example.com.', server.port), ['A 192.0.2.1 60'])
  await server.change({ resolver: { targets: [after.target] } })
  for (let index = 0; index < 10; index += 1)
    assert.deepEqual(await addressesOf(`n${index}.example.com.`, server.port), ['A 192.0.2.2 60'])
  assert.deepEqual(before.names, ['one.example.com.'])
})

test('a question that is in progress during a reload gets its answer, on whichever thread it came', async (context) => {
  const { promise: go, resolve: release } = Promise.withResolvers<void>()
  const slow = await upstream(context, async ({ bytes }) => {
    await go
    return [answerBytes(bytes, { addresses: ['192.0.2.1'] })]
  })
  const server = await serve(context, { resolver: { targets: [slow.target], cache: false } })
  const asking = Array.from({ length: 12 }, (_, index) => addressesOf(`n${index}.example.com.`, server.port))
  await until('the upstream has all of them', () => new Set(slow.names).size === 12)
  await server.change({ resolver: { targets: [slow.target], cache: false, forward: { maxConcurrent: 500 } } })
  release()
  for (const found of await Promise.all(asking)) assert.deepEqual(found, ['A 192.0.2.1 60'])
})

test('DO goes to the upstream, and an answer is as long as the client takes: all of it over TCP, TC over UDP', async (context) => {
  const texts = Array.from({ length: 100 }, (_, index) => txtData([Buffer.from(`${index}-${'x'.repeat(240)}`)]))
  const server = await upstream(context, (asked) => {
    const whole = replyWith(
      asked,
      texts.map((data) => makeRecord(encodeName('big.example.com.'), recordType.TXT, 60, data)),
    )
    if (asked.over === 'tcp') return [whole]
    const cut = answerBytes(asked.bytes)
    cut.writeUInt16BE(cut.readUInt16BE(2) | flag.TC, 2)
    return [cut]
  })
  const { port, askOverTcp } = await serve(context, { resolver: { targets: [server.target] } }).then((made) => ({
    port: made.port,
    askOverTcp: (message: Buffer) => made.askOverTcp([message]),
  }))
  for (let round = 0; round < 4; round += 1) {
    const query = makeQuery('big.example.com.', recordType.TXT, { edns: { dnssecOk: true, udpSize: 4096 } })
    const [whole] = await askOverTcp(query)
    assert.ok(whole && whole.length > 24_000, `${whole?.length} bytes`)
    assert.equal(readMessage(whole, whole.length).answer.length, texts.length)
    const cut = await askUdp(query, port, patientMs)
    assert.ok(cut && cut.length <= 1232)
    const seen = readMessage(cut, cut.length)
    assert.equal(seen.flags & flag.TC, flag.TC)
    assert.equal(seen.edns?.dnssecOk, true)
    const plain = await askUdp(makeQuery('big.example.com.', recordType.TXT), port, patientMs)
    assert.ok(plain && plain.length <= 512)
  }
  const [first] = server.asked
  assert.ok(first)
  const forwarded = readMessage(first.bytes, first.bytes.length)
  assert.deepEqual([forwarded.edns?.dnssecOk, forwarded.edns?.udpSize], [true, 1232])
})

test('a chain of aliases comes back whole, and is cached for as long as its shortest part', async (context) => {
  const names = ['www.example.com.', 'a.example.net.', 'b.example.org.', 'c.example.test.'].map((name) =>
    encodeName(name),
  )
  const address = Buffer.of(192, 0, 2, 9)
  const server = await upstream(context, (asked) => [
    replyWith(asked, [
      ...names.slice(0, -1).map((name, index) => makeRecord(name, recordType.CNAME, 300, names[index + 1] ?? name)),
      makeRecord(names.at(-1) ?? address, recordType.A, 20, address),
    ]),
  ])
  const { port } = await serve(context, { resolver: { targets: [server.target] } })
  for (let round = 0; round < 6; round += 1) {
    const answer = await askUdp(makeQuery('www.example.com.', recordType.A), port, patientMs)
    assert.ok(answer)
    assert.deepEqual(
      readMessage(answer, answer.length).answer.map(({ type }) => type),
      [recordType.CNAME, recordType.CNAME, recordType.CNAME, recordType.A],
    )
  }
  assert.equal(server.asked.length, 1)
})

test('a transfer that the upstream refuses is refused, and never cached', async (context) => {
  const server = await upstream(context, ({ bytes }) => [answerBytes(bytes, { rcode: rcode.REFUSED })])
  const made = await serve(context, { resolver: { targets: [server.target] } })
  for (let round = 0; round < 2; round += 1) {
    const [answer] = await made.askOverTcp([makeQuery('example.com.', recordType.AXFR)])
    assert.ok(answer)
    assert.equal(readMessage(answer, answer.length).rcode, rcode.REFUSED)
  }
  assert.equal(server.asked.length, 2)
})

test('a flood of names for a silent upstream delays no name that is cached, and ends in SERVFAIL or REFUSED', async (context) => {
  const server = await upstream(context, ({ name, bytes }) =>
    name.startsWith('known') ? [answerBytes(bytes, { addresses: ['192.0.2.7'] })] : [],
  )
  const { port } = await serve(context, {
    resolver: { targets: [server.target], forward: { readTimeoutMs: 200, maxConcurrent: 50, maxFails: 0 } },
  })
  await addressesOf('known.example.com.', port)
  let isOver = false
  const flood = Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      askUdp(makeQuery(`n${index}.example.com.`, recordType.A), port, patientMs),
    ),
  ).finally(() => {
    isOver = true
  })
  assert.match((await addressesOf('known.example.com.', port)).join(), /^A 192\.0\.2\.7 /)
  assert.equal(isOver, false, 'the cached name does not wait for the flood')
  const codes = (await flood).map((answer) => answer && readMessage(answer, answer.length).rcode)
  assert.deepEqual(new Set(codes), new Set([rcode.SERVFAIL, rcode.REFUSED]))
})

test('a serving thread that ends is started again, and both threads answer forwarded names', async (context) => {
  const workers = watchStartedThreads(context)
  const server = await upstream(context, says('192.0.2.7'))
  const made = await serve(context, { resolver: { targets: [server.target] } })
  for (const ended of [0, 1]) {
    const count = workers.length
    await workers[ended]?.terminate()
    await until('another thread has started', () => workers.length > count, patientMs)
    await untilAsync(
      'both threads answer',
      async () => {
        const asked = Array.from({ length: 16 }, (_, index) =>
          askUdp(makeQuery(`${ended}-${index}.example.com.`, recordType.A), made.port, 500),
        )
        return (await Promise.all(asked)).every((answer) => answer && seeAnswer(answer).records.length === 1)
      },
      patientMs,
    )
  }
  assert.equal(workers.length, 4)
})

test('the stub resolver of the node may be the upstream: an address of the loopback other than our own', async (context) => {
  const server = await upstream(context, says('192.0.2.7'))
  const target = { address: ipOf('127.0.0.1'), port: server.port }
  const { port } = await serve(context, { resolver: { targets: [target], loop: true } })
  assert.deepEqual(await addressesOf('www.example.com.', port), ['A 192.0.2.7 60'])
})
