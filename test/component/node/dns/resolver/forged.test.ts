import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { flag, rcode, recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { encodeName, nameText } from '../../../../../src/node/dns/wire/name.ts'
import { Query } from '../../../../../src/node/dns/wire/query.ts'
import { type DnsRecord, makeRecord } from '../../../../../src/node/dns/wire/record.ts'
import { writeReply } from '../../../../../src/node/dns/wire/response.ts'
import { type ResolverShape, TestResolver } from '../../../../helpers/block-resolvers.ts'
import { type Asked, FakeUpstream, type Script } from '../../../../helpers/fake-upstream.ts'
import { answerBytes } from '../../../../helpers/upstream-messages.ts'

const cleanups: (() => unknown)[] = []
after(async () => {
  for (const clean of cleanups.reverse()) await clean()
})

async function upstream(script: Script): Promise<FakeUpstream> {
  const made = await new FakeUpstream(script).start()
  cleanups.push(() => made.stop())
  return made
}

function resolver(shape: ResolverShape): TestResolver {
  const made = new TestResolver({ cache: false, ...shape })
  cleanups.push(() => made.resolver.close())
  return made
}

/** The same question in lower case. */
function lowered({ bytes, name }: Asked): Buffer {
  const changed = Buffer.from(bytes)
  encodeName(name).copy(changed, 12)
  return changed
}

function isMixed({ spelling }: Asked): boolean {
  return spelling !== spelling.toLowerCase()
}

const long = 'a-name-with-many-letters.example.com.'
const good = { addresses: ['192.0.2.7'] }
const forged = { addresses: ['203.0.113.66'] }

describe('protection against forged answers', () => {
  test('each query has a random port: many ports, far apart, none for long, and a bounded number of sockets', async () => {
    const server = await upstream(({ bytes }) => [answerBytes(bytes, good)])
    const asking = resolver({ targets: [server.target] })
    for (let round = 0; round < 20; round += 1)
      await Promise.all(Array.from({ length: 50 }, (_, index) => asking.ask(`n${round}-${index}.example.com.`)))
    const ports = server.asked.map(({ port }) => port)
    const uses = Map.groupBy(ports, (port) => port)
    assert.equal(ports.length, 1000)
    assert.ok(uses.size > 100, `${uses.size} ports`)
    assert.ok(
      [...uses.values()].every(({ length }) => length <= 32),
      'one may be given again by the kernel',
    )
    const sorted = [...uses.keys()].sort((a, b) => a - b)
    assert.ok((sorted.at(-1) ?? 0) - (sorted[0] ?? 0) > 10_000, 'they are spread over the range')
    const repeated = ports.filter((port, index) => port === ports[index + 1]).length
    assert.ok(repeated < 100, `${repeated} of 1000 queries have the port of the one before`)
  })

  test('slow questions leave from many ports too', async () => {
    const server = await upstream(({ bytes }) => [answerBytes(bytes, good)])
    const asking = resolver({ targets: [server.target] })
    for (let index = 0; index < 40; index += 1) await asking.ask(`n${index}.example.com.`)
    // 40 balls in 64 places leave 30 places taken; fewer than 20 have a probability below 1e-6.
    assert.ok(new Set(server.asked.map(({ port }) => port)).size >= 20)
  })

  test('IDs and case differ from query to query, and the client sees its own case', async () => {
    const server = await upstream((asked) => [answerBytes(asked.bytes, good)])
    const asking = resolver({ targets: [server.target] })
    const spellings = new Set<string>()
    for (let index = 0; index < 20; index += 1) {
      const { message } = await asking.resolve('Some-Longer-Name.Example.COM.')
      assert.ok(message)
      const { question, answer } = readMessage(message, message.length)
      assert.equal(nameText(question?.name ?? Buffer.of(0)), 'Some-Longer-Name.Example.COM.')
      assert.equal(nameText(answer[0]?.name ?? Buffer.of(0)), 'Some-Longer-Name.Example.COM.')
      spellings.add(server.asked[index]?.spelling ?? '')
    }
    assert.equal(spellings.size, 20)
    assert.equal(new Set(server.asked.map(({ bytes }) => bytes.readUInt16BE(0))).size, 20)
  })

  test('an uncompressed owner in the answer has the case of the client', async () => {
    const server = await upstream(({ bytes }) => [withoutPointers(answerBytes(bytes, good))])
    const { message } = await resolver({ targets: [server.target] }).resolve(long)
    assert.ok(message)
    assert.equal(nameText(readMessage(message, message.length).answer[0]?.name ?? Buffer.of(0)), long)
  })

  test('an answer with the right ID and port but another case is not accepted: TCP decides', async () => {
    const server = await upstream((asked) =>
      asked.over === 'udp' && isMixed(asked)
        ? [answerBytes(lowered(asked), forged), answerBytes(asked.bytes, good)]
        : [answerBytes(asked.bytes, good)],
    )
    const asking = resolver({ targets: [server.target] })
    assert.deepEqual((await asking.ask(long)).records, ['A 192.0.2.7 60'])
    assert.deepEqual((await asking.ask(`b.${long}`)).records, ['A 192.0.2.7 60'])
    assert.ok(
      server.asked.filter(({ over }) => over === 'udp').every(isMixed),
      'the upstream goes on being asked in mixed case',
    )
  })

  test("an upstream that does not keep the case is detected over TCP, and asked in the client's case from then on", async () => {
    const server = await upstream((asked) => [answerBytes(lowered(asked), good)])
    const asking = resolver({ targets: [server.target] })
    for (const name of [long, `b.${long}`, `c.${long}`])
      assert.deepEqual((await asking.ask(name)).records, ['A 192.0.2.7 60'])
    assert.deepEqual(
      server.asked.map((asked) => `${asked.over} ${isMixed(asked)}`),
      ['udp true', 'tcp true', 'udp false', 'udp false'],
    )
  })

  test("an upstream that does not keep the case and does not answer over TCP is asked in the client's case", async () => {
    const server = await upstream((asked) => (asked.over === 'tcp' ? [] : [answerBytes(lowered(asked), good)]))
    const asking = resolver({ targets: [server.target], forward: { readTimeoutMs: 100 } })
    for (const name of [long, `b.${long}`]) assert.deepEqual((await asking.ask(name)).records, ['A 192.0.2.7 60'])
    assert.equal(server.asked.at(-1)?.spelling, `b.${long}`)
  })

  test('a middlebox that changes the case over UDP alone does not cost a connection for ever', async () => {
    const server = await upstream((asked) => [answerBytes(asked.over === 'udp' ? lowered(asked) : asked.bytes, good)])
    const asking = resolver({ targets: [server.target] })
    for (let index = 0; index < 12; index += 1)
      assert.deepEqual((await asking.ask(`n${index}.${long}`)).records, ['A 192.0.2.7 60'])
    assert.equal(server.asked.filter(({ over }) => over === 'tcp').length, 8)
  })

  for (const [what, shape] of [
    ['NXDOMAIN', { rcode: rcode.NXDOMAIN }],
    ['REFUSED', { rcode: rcode.REFUSED }],
    ['nothing', {}],
  ] as const) {
    test(`an upstream that tells upper from lower case, and answers ${what}, is asked in the client's case`, async () => {
      const server = await upstream((asked) => [answerBytes(asked.bytes, asked.spelling === asked.name ? good : shape)])
      const asking = resolver({ targets: [server.target] })
      for (const name of [long, `b.${long}`]) assert.deepEqual((await asking.ask(name)).records, ['A 192.0.2.7 60'])
      assert.equal(server.asked.length, 3)
    })
  }

  test("an upstream that does not answer questions in random case is asked in the client's case", async () => {
    const server = await upstream((asked) => (isMixed(asked) ? [] : [answerBytes(asked.bytes, good)]))
    const asking = resolver({ targets: [server.target], forward: { readTimeoutMs: 60 } })
    for (const name of [long, `b.${long}`]) assert.deepEqual((await asking.ask(name)).records, ['A 192.0.2.7 60'])
    assert.deepEqual(server.asked.map(isMixed).filter(Boolean).length, 1)
  })

  test('a denial with its SOA costs no second question', async () => {
    const denial = { rcode: rcode.NXDOMAIN, soa: { ttl: 5, minimum: 5 } }
    const server = await upstream(({ bytes }) => [answerBytes(bytes, denial)])
    await resolver({ targets: [server.target] }).ask(long)
    assert.equal(server.asked.length, 1)
  })

  test('an upstream over TCP is asked in the client’s case, without a second question', async () => {
    const server = await upstream(({ bytes }) => [answerBytes(bytes, good)])
    await resolver({ targets: [server.target], forward: { forceTcp: true } }).ask(long)
    assert.deepEqual(
      server.asked.map(({ spelling }) => spelling),
      [long],
    )
  })
})

const owner = encodeName(long)
const other = encodeName(`other.${long}`)
const address = Buffer.of(192, 0, 2, 7)

function record(name: Buffer, type: number, data: Buffer): DnsRecord {
  return makeRecord(name, type, 60, data)
}

function replyWith(question: Buffer, answer: readonly DnsRecord[]): Buffer {
  const query = new Query()
  query.parse(question, question.length)
  const out = Buffer.alloc(4096)
  const reply = { rcode: rcode.NOERROR, flags: flag.RA, answer, authority: [], additional: [] }
  return Buffer.from(out.subarray(0, writeReply(query, reply, out, out.length)))
}

/** An answer of one record whose owner is these bytes, written behind the question. */
function withOwner(
  question: Buffer,
  ownerBytes: (at: number) => Buffer,
  type: number,
  data: (at: number) => Buffer,
): Buffer {
  const end = replyWith(questionWithoutOpt(question), []).length
  const name = ownerBytes(end)
  const content = data(end + name.length + 10)
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt32BE(60, 4)
  fixed.writeUInt16BE(content.length, 8)
  const message = Buffer.concat([replyWith(questionWithoutOpt(question), []), name, fixed, content])
  message.writeUInt16BE(1, 6)
  return message
}

function questionWithoutOpt(question: Buffer): Buffer {
  const query = new Query()
  query.parse(question, question.length)
  const bare = Buffer.from(question.subarray(0, query.questionEnd))
  bare.writeUInt16BE(0, 10)
  return bare
}

function pointer(to: number): Buffer {
  return Buffer.of(0xc0 | (to >> 8), to & 0xff)
}

/** The first record's owner written out instead of a pointer to the question. */
function withoutPointers(message: Buffer): Buffer {
  const query = new Query()
  const asked = Buffer.from(message)
  asked.writeUInt16BE(0x0100, 2)
  asked.writeUInt32BE(0, 6)
  asked.writeUInt16BE(0, 10)
  query.parse(asked, asked.length)
  const end = query.questionEnd
  return Buffer.concat([message.subarray(0, end), message.subarray(12, query.nameEnd), message.subarray(end + 2)])
}

describe('answers that lead nowhere', () => {
  const faulty: Readonly<Record<string, (question: Buffer) => Buffer>> = {
    'an owner that points to itself': (question) => withOwner(question, pointer, recordType.A, () => address),
    'an owner that points ahead': (question) =>
      withOwner(
        question,
        (at) => pointer(at + 4),
        recordType.A,
        () => address,
      ),
    'an owner beyond the message': (question) =>
      withOwner(
        question,
        () => pointer(0x3fff),
        recordType.A,
        () => address,
      ),
    'a target that points to itself': (question) => withOwner(question, () => pointer(12), recordType.CNAME, pointer),
    'a mail server that points to itself': (question) =>
      withOwner(
        question,
        () => pointer(12),
        recordType.MX,
        (at) => Buffer.concat([Buffer.of(0, 1), pointer(at + 2)]),
      ),
    'an alias of itself': (question) => replyWith(question, [record(owner, recordType.CNAME, owner)]),
    'an alias of itself beside an address': (question) =>
      replyWith(question, [record(owner, recordType.CNAME, owner), record(owner, recordType.A, address)]),
    'two aliases of each other': (question) =>
      replyWith(question, [record(owner, recordType.CNAME, other), record(other, recordType.CNAME, owner)]),
    'two aliases of each other, in the other order': (question) =>
      replyWith(question, [record(other, recordType.CNAME, owner), record(owner, recordType.CNAME, other)]),
    'a message that ends in a record': (question) => answerBytes(question, good).subarray(0, -12),
  }

  for (const [what, make] of Object.entries(faulty)) {
    test(`${what} is no answer: it is neither passed on nor kept, and the next upstream is asked`, async () => {
      const bad = await upstream(({ bytes }) => [make(bytes)])
      const sound = await upstream(({ bytes }) => [answerBytes(bytes, good)])
      const alone = resolver({ targets: [bad.target], cache: {} })
      const first = await alone.ask(long)
      assert.deepEqual([first.rcode, first.records], [rcode.SERVFAIL, []])
      assert.match(alone.events.join(), /the upstream sent a message/)
      const before = bad.asked.length
      await alone.ask(long)
      assert.ok(bad.asked.length > before, 'it is asked again')
      const both = resolver({ targets: [bad.target, sound.target] })
      assert.deepEqual((await both.ask(long)).records, ['A 192.0.2.7 60'])
    })
  }

  test('a chain of aliases without its target is passed on and not kept as an answer', async () => {
    const shapes = [
      [record(owner, recordType.CNAME, other)],
      [record(owner, recordType.CNAME, other), record(owner, recordType.A, address)],
      [record(owner, recordType.CNAME, other), record(encodeName('unrelated.'), recordType.A, address)],
      [record(encodeName('unrelated.'), recordType.A, address)],
    ]
    for (const answer of shapes) {
      const server = await upstream(({ bytes }) => [replyWith(bytes, answer)])
      const asking = resolver({ targets: [server.target], cache: {} })
      assert.equal((await asking.ask(long)).records.length, answer.length)
      await asking.ask(long)
      assert.equal(server.asked.length, 2)
    }
  })

  test('a chain with its target is kept, in any order and case', async () => {
    const upper = encodeName(`OTHER.${long.toUpperCase()}`)
    const server = await upstream(({ bytes }) => [
      replyWith(bytes, [record(other, recordType.A, address), record(owner, recordType.CNAME, upper)]),
    ])
    const asking = resolver({ targets: [server.target], cache: {} })
    await asking.ask(long)
    assert.equal((await asking.ask(long)).records.length, 2)
    assert.equal(server.asked.length, 1)
  })

  test('the alias itself may be asked for', async () => {
    const server = await upstream(({ bytes }) => [replyWith(bytes, [record(owner, recordType.CNAME, other)])])
    const asking = resolver({ targets: [server.target], cache: {} })
    for (let count = 0; count < 2; count += 1)
      assert.equal((await asking.ask(long, { type: 'CNAME' })).records.length, 1)
    assert.equal(server.asked.length, 1)
  })
})
