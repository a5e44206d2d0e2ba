import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { flag, rcode, recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { FrameReader, frameMessage } from '../../../../../src/node/dns/wire/frames.ts'
import { readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { makeOption, makeQuery } from '../../../../helpers/dns-messages.ts'
import { TestDnsServer } from '../../../../helpers/dns-server.ts'
import { FakeUpstream } from '../../../../helpers/fake-upstream.ts'
import { makeEndpoint, makeService, makeSlice } from '../../../../helpers/services.ts'
import { answerBytes, seeAnswer } from '../../../../helpers/upstream-messages.ts'

const web = 'web.default.svc.cluster.local.'
const many = Array.from({ length: 200 }, (_, index) => `10.244.${Math.floor(index / 100)}.${(index % 100) + 1}`)

const views = [
  { service: makeService('default/web', '10.96.4.2'), slices: [] },
  {
    service: { ...makeService('default/db', '10.96.0.1', { headless: true }), clusterIps: [] },
    slices: [
      makeSlice(
        'default/db',
        [['sql', 'TCP', 5432]],
        many.map((address) => makeEndpoint(address)),
      ),
    ],
  },
  {
    service: {
      ...makeService('default/out', '10.96.0.1', { type: 'ExternalName', externalName: 'www.example.com' }),
      clusterIps: [],
    },
    slices: [],
  },
]

let server: TestDnsServer
let upstream: FakeUpstream

before(async () => {
  upstream = await new FakeUpstream(({ bytes }) => [answerBytes(bytes, { addresses: ['192.0.2.7'] })]).start()
  server = await new TestDnsServer({ resolver: { targets: [upstream.target] } }).start(views)
})
after(async () => {
  await server.stop()
  await upstream.stop()
})

async function ask(message: Buffer) {
  const answer = await server.ask(message)
  assert.ok(answer, 'no answer came')
  return readMessage(answer, answer.length)
}

/** A server that drops something must answer what comes after it. */
async function assertDropped(message: Buffer): Promise<void> {
  assert.equal(await server.ask(message, 100), undefined)
  assert.equal((await ask(makeQuery(web, recordType.A))).rcode, rcode.NOERROR)
}

describe('questions over UDP', () => {
  test("a name of the cluster is answered from memory, authoritative, in the question's case", async () => {
    const seen = await ask(makeQuery('WEB.default.svc.cluster.LOCAL.', recordType.A, { id: 0x4242 }))
    assert.equal(seen.id, 0x4242)
    assert.equal(seen.flags & (flag.QR | flag.AA | flag.RD), flag.QR | flag.AA | flag.RD)
    assert.equal(seen.question?.name.toString('latin1'), '\x03WEB\x07default\x03svc\x07cluster\x05LOCAL\0')
    assert.deepEqual(
      seen.answer.map(({ data }) => [...data].join('.')),
      ['10.96.4.2'],
    )
  })

  test('an answer from memory does not wait for one of an upstream', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    upstream.script = async ({ bytes }) => {
      await released
      return [answerBytes(bytes, { addresses: ['192.0.2.7'] })]
    }
    const slow = server.ask(makeQuery('slow.example.com.', recordType.A))
    for (let count = 0; count < 20; count += 1)
      assert.equal((await ask(makeQuery(web, recordType.A))).rcode, rcode.NOERROR)
    release()
    assert.deepEqual(seeAnswer((await slow) ?? Buffer.alloc(0)).records, ['A 192.0.2.7 60'])
    upstream.script = ({ bytes }) => [answerBytes(bytes, { addresses: ['192.0.2.7'] })]
  })

  test('the alias of an ExternalName Service is followed through the resolver', async () => {
    const seen = await ask(makeQuery('out.default.svc.cluster.local.', recordType.A))
    assert.deepEqual(
      seen.answer.map(({ type }) => type),
      [recordType.CNAME, recordType.A],
    )
    assert.ok(upstream.names.includes('www.example.com.'))
  })

  test('records that do not fit are left out with TC, the OPT stays, and TCP has all of them', async () => {
    const plain = await ask(makeQuery('db.default.svc.cluster.local.', recordType.A))
    assert.ok((plain.flags & flag.TC) !== 0 && plain.answer.length > 20 && plain.answer.length < 32)
    const edns = await ask(makeQuery('db.default.svc.cluster.local.', recordType.A, { edns: { udpSize: 4096 } }))
    assert.ok((edns.flags & flag.TC) !== 0 && edns.answer.length > 60, 'up to 1232 bytes')
    assert.equal(edns.edns?.udpSize, 4096)
    const [whole] = await server.askOverTcp([makeQuery('db.default.svc.cluster.local.', recordType.A)])
    assert.equal(readMessage(whole ?? Buffer.alloc(0), whole?.length ?? 0).answer.length, 200)
  })

  for (const [what, message, expected] of [
    ['an opcode that is no query', makeQuery(web, 1, { flags: 0x2800 }), rcode.NOTIMP],
    ['two questions', withCounts(makeQuery(web, 1), 2, 0), rcode.FORMERR],
    ['no question', withCounts(makeQuery(web, 1), 0, 0), rcode.FORMERR],
    ['a name that does not end', makeQuery(web, 1).subarray(0, 20), rcode.FORMERR],
    [
      'a pointer in the question',
      Buffer.concat([makeQuery('.', 1).subarray(0, 12), Buffer.of(0xc0, 12, 0, 1, 0, 1)]),
      rcode.FORMERR,
    ],
    ['records that are not there', withCounts(makeQuery(web, 1), 1, 2), rcode.FORMERR],
    ['an unknown EDNS version', makeQuery(web, 1, { edns: { version: 1 } }), rcode.BADVERS],
    ['a transfer of the zone', makeQuery('cluster.local.', recordType.AXFR), rcode.REFUSED],
    ['a name that is missing', makeQuery(`no.${web}`, 1), rcode.NXDOMAIN],
    ['a type that is missing', makeQuery(web, recordType.MX), rcode.NOERROR],
  ] as const) {
    test(`${what}: rcode ${expected}`, async () => {
      const seen = await ask(message)
      assert.equal(seen.rcode, expected)
      assert.equal(seen.id, 0x1234)
    })
  }

  test('an answer, half a header and nothing at all get no answer', async () => {
    await assertDropped(makeQuery(web, 1, { flags: flag.QR }))
    await assertDropped(Buffer.from('short'))
    await assertDropped(Buffer.alloc(0))
  })

  test('COOKIE and NSID come back, a client subnet does not', async () => {
    const options = Buffer.concat([
      makeOption(10, Buffer.from('01234567')),
      makeOption(8, Buffer.of(0, 1, 24, 0, 192, 0, 2)),
      makeOption(3, Buffer.alloc(0)),
    ])
    const seen = await ask(makeQuery(web, 1, { edns: { options, dnssecOk: true } }))
    assert.deepEqual(
      seen.edns?.options,
      Buffer.concat([makeOption(10, Buffer.from('01234567')), makeOption(3, Buffer.alloc(0))]),
    )
    assert.equal(seen.edns?.dnssecOk, true)
  })

  test('64 KB of pointers cost nothing', async () => {
    const pointers = Buffer.alloc(60_000)
    for (let at = 0; at < pointers.length; at += 2) pointers.writeUInt16BE(0xc000 | ((at + 14) & 0x3fff), at)
    const message = Buffer.concat([makeQuery(web, 1), pointers])
    assert.equal((await ask(message)).rcode, rcode.NOERROR, 'what follows the records is not looked at')
    await ask(withCounts(message, 1, 2))
  })
})

describe('questions over TCP', () => {
  test('many questions on one connection are answered as their answers are ready, in any order', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    upstream.script = async ({ bytes }) => {
      await released
      return [answerBytes(bytes, { addresses: ['192.0.2.7'] })]
    }
    const questions = [
      makeQuery('first.example.com.', 1, { id: 1 }),
      ...Array.from({ length: 50 }, (_, index) => makeQuery(web, 1, { id: index + 2 })),
    ]
    const answers = await server.askOverTcp(questions, (count) => count === 50 && release())
    const ids = answers.map((answer) => answer.readUInt16BE(0))
    assert.deepEqual(
      ids.toSorted((a, b) => a - b),
      Array.from({ length: 51 }, (_, index) => index + 1),
    )
    assert.equal(ids.at(-1), 1, 'the slow one comes last')
  })

  test('a question that arrives byte by byte is answered', async () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.setNoDelay(true)
    await once(socket, 'connect')
    const message = makeQuery(web, 1)
    const frame = Buffer.concat([Buffer.of(0, message.length), message])
    for (const byte of frame) {
      socket.write(Buffer.of(byte))
      await new Promise(setImmediate)
    }
    const [answer] = (await once(socket, 'data')) as [Buffer]
    assert.equal(answer.readUInt16BE(2), 0x1234)
    socket.destroy()
  })

  test('a client that has ended its side still gets its answers, and then the connection ends', async () => {
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, 'connect')
    const message = makeQuery(web, 1)
    socket.end(Buffer.concat([Buffer.of(0, message.length), message]))
    const [answer] = (await once(socket, 'data')) as [Buffer]
    assert.equal(answer.readUInt16BE(2), 0x1234)
    await once(socket, 'end')
  })

  test('the connection of a client that sends nothing, or half a question, is closed', async () => {
    const silent = connect(server.port, '127.0.0.1')
    const half = connect(server.port, '127.0.0.1')
    await Promise.all([once(silent, 'connect'), once(half, 'connect')])
    half.write(Buffer.of(0, 40, 1))
    for (const socket of [silent, half]) socket.on('error', () => {})
    await Promise.all([silent, half].map((socket) => once(socket.resume(), 'close')))
  })

  for (const [what, bytes] of [
    ['an empty frame', Buffer.of(0, 0)],
    ['many empty frames', Buffer.alloc(100_000)],
    ['a frame without a whole header', Buffer.of(0, 3, 1, 2, 3)],
    ['an answer in place of a question', frameMessage(Buffer.of(0, 1, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0))],
    ['many frames that are no questions', Buffer.concat(Array<Buffer>(50).fill(frameMessage(Buffer.alloc(12))))],
  ] as const) {
    test(`the connection of a client that sends ${what} is closed at once, after the answers before`, async () => {
      const socket = connect(server.port, '127.0.0.1')
      socket.on('error', () => {})
      await once(socket, 'connect')
      const { promise: closed, resolve: onClose } = Promise.withResolvers<void>()
      socket.on('close', () => onClose())
      const frames = new FrameReader()
      const answers: Buffer[] = []
      socket.on('data', (chunk: Buffer) => answers.push(...frames.push(chunk)))
      const startedMs = performance.now()
      socket.write(frameMessage(makeQuery(web, 1, { id: 7 })))
      await once(socket, 'data')
      socket.write(bytes)
      await closed
      assert.ok(performance.now() - startedMs < 2_500, 'no deadline ended it')
      assert.equal(answers[0]?.readUInt16BE(0), 7)
      assert.ok(answers.length <= 17, `${answers.length} answers`)
    })
  }
})

describe('the sources that are answered', () => {
  test('an address for the cluster alone refuses other sources', async () => {
    const closed = await new TestDnsServer({ access: 'cluster', clusterSources: ['10.244.0.0/16'] }).start(views)
    const open = await new TestDnsServer({ access: 'cluster', clusterSources: ['127.0.0.0/8'] }).start(views)
    try {
      const refused = await closed.ask(makeQuery(web, 1))
      assert.equal(readMessage(refused ?? Buffer.alloc(0), refused?.length ?? 0).rcode, rcode.REFUSED)
      const answered = await open.ask(makeQuery(web, 1))
      assert.equal(readMessage(answered ?? Buffer.alloc(0), answered?.length ?? 0).rcode, rcode.NOERROR)
    } finally {
      await Promise.all([closed.stop(), open.stop()])
    }
  })

  test('connections are bounded: one more replaces the idlest', async () => {
    const small = await new TestDnsServer({ maxConnections: 4, servingThreads: 1 }).start(views)
    const sockets = []
    try {
      for (let count = 0; count < 8; count += 1) {
        const socket = connect(small.port, '127.0.0.1')
        socket.on('error', () => {})
        await once(socket, 'connect')
        sockets.push(socket.resume())
      }
      await Promise.all(sockets.slice(0, 4).map((socket) => socket.closed || once(socket, 'close')))
      assert.equal((await small.askOverTcp([makeQuery(web, 1)])).length, 1)
    } finally {
      for (const socket of sockets) socket.destroy()
      await small.stop()
    }
  })
})

function withCounts(message: Buffer, questions: number, additional: number): Buffer {
  const changed = Buffer.from(message)
  changed.writeUInt16BE(questions, 4)
  changed.writeUInt16BE(additional, 10)
  return changed
}
