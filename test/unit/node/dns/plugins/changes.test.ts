import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { orderReply, readWeights, rotateAddresses } from '../../../../../src/node/dns/plugins/loadbalance/order.ts'
import { QueryRewriter } from '../../../../../src/node/dns/plugins/rewrite/query-rewriter.ts'
import { recordType, typeName } from '../../../../../src/node/dns/wire/codes.ts'
import { readLayout, readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { nameText } from '../../../../../src/node/dns/wire/name.ts'
import { writeReply } from '../../../../../src/node/dns/wire/response.ts'
import { makeQuery, parsedQuery } from '../../../../helpers/dns-messages.ts'
import { answerOf, ask, blockWith, records, replyLine } from '../../../../helpers/dns-plugins.ts'
import { recordText } from '../../../../helpers/dns-zone.ts'
import { cidr } from '../../../../helpers/services.ts'

const { A, ANY, HINFO, MX } = recordType

describe('rewrite', () => {
  /** What is asked instead, and an answer turned back; undefined where no rule applies. */
  function rewritten(rules: string, name: string, type: number, ...answer: readonly string[]) {
    const query = ask(name, type)
    const result = new QueryRewriter(blockWith(rules).rewrite).rewrite(query)
    if (result === undefined) return undefined
    const asked = parsedQuery(result.bytes)
    const line = `${nameText(asked.name)} ${typeName(asked.type)}`
    return answer.length === 0 ? line : `${line} → ${replyLine(result.restore(answerOf(...answer)))}`
  }

  for (const [what, rules, name, answer, expected] of [
    [
      'exact, turned back by itself',
      'rewrite name a.org b.org',
      'A.org',
      'b.org. 9 IN A 10.0.0.1',
      'b.org. A → NOERROR ra | a.org. 9 A 10.0.0.1',
    ],
    [
      'exact, also in targets',
      'rewrite name a.org b.org',
      'a.org',
      'x.org. 9 IN CNAME b.org.',
      'b.org. A → NOERROR ra | x.org. 9 CNAME a.org.',
    ],
    [
      'suffix without auto',
      'rewrite name suffix .a.org .b.org',
      'x.a.org',
      'x.b.org. 9 IN A 10.0.0.1',
      'x.b.org. A → NOERROR ra | x.b.org. 9 A 10.0.0.1',
    ],
    [
      'suffix with auto',
      'rewrite name suffix .a.org .b.org answer auto',
      'x.a.org',
      'x.b.org. 9 IN CNAME y.b.org.',
      'x.b.org. A → NOERROR ra | x.a.org. 9 CNAME y.a.org.',
    ],
    [
      'prefix with auto',
      'rewrite name prefix old- new- answer auto',
      'old-x.org',
      'new-x.org. 9 IN A 10.0.0.1',
      'new-x.org. A → NOERROR ra | old-x.org. 9 A 10.0.0.1',
    ],
    [
      'substring with auto',
      'rewrite name substring us eu answer auto',
      'x.us.us.org',
      'x.eu.eu.org. 9 IN A 10.0.0.1',
      'x.eu.eu.org. A → NOERROR ra | x.us.us.org. 9 A 10.0.0.1',
    ],
    [
      'regex with answers of its own',
      'rewrite name regex (.*)\\.a\\.org\\.$ {1}.b.org answer name (.*)\\.b\\.org\\.$ {1}.a.org answer value (.*)\\.b\\.org\\.$ {1}.c.org',
      'x.a.org',
      'x.b.org. 9 IN SRV 1 2 3 y.b.org.',
      'x.b.org. A → NOERROR ra | x.a.org. 9 SRV 1 2 3 y.c.org.',
    ],
    [
      'ttl, clamped',
      'rewrite ttl suffix .org. 30-300',
      'x.org',
      'x.org. 9 IN A 10.0.0.1',
      'x.org. A → NOERROR ra | x.org. 30 A 10.0.0.1',
    ],
    [
      'ttl, fixed',
      'rewrite ttl x.org 7',
      'x.org',
      'x.org. 9 IN A 10.0.0.1',
      'x.org. A → NOERROR ra | x.org. 7 A 10.0.0.1',
    ],
  ] as const) {
    test(what, () => assert.equal(rewritten(rules, name, A, answer), expected))
  }

  test('stops at the first rule that applies, goes on after continue, and restores in the opposite order', () => {
    assert.equal(rewritten('rewrite name a.org b.org\nrewrite name b.org c.org', 'a.org', A), 'b.org. A')
    const chain = 'rewrite continue name a.org b.org\nrewrite name b.org c.org'
    assert.equal(rewritten(chain, 'a.org', A, 'c.org. 9 IN A 10.0.0.1'), 'c.org. A → NOERROR ra | a.org. 9 A 10.0.0.1')
    assert.equal(rewritten('rewrite name x.org y.org\nrewrite type ANY HINFO', 'a.org', ANY), 'a.org. HINFO')
  })

  test('changes type and class, keeps ID, flags and OPT', () => {
    const query = parsedQuery(makeQuery('A.org', ANY, { id: 9, class: 3, edns: { udpSize: 1400 } }))
    const rules = blockWith('rewrite continue type ANY HINFO\nrewrite class CH IN').rewrite
    const asked = parsedQuery(new QueryRewriter(rules).rewrite(query)?.bytes ?? Buffer.alloc(0))
    assert.deepEqual([asked.id, asked.type, asked.class, asked.udpSize], [9, HINFO, 1, 1400])
    assert.equal(nameText(asked.name), 'A.org.')
  })

  test('changes nothing where no rule applies, or where the result is no name', () => {
    assert.equal(rewritten('rewrite name a.org b.org\nrewrite type MX A', 'x.org', A), undefined)
    assert.equal(rewritten(`rewrite name prefix a ${'b'.repeat(63)}`, 'aa.org', A), undefined)
  })
})

describe('loadbalance', () => {
  /** 0, then 1/4, 1/2, 3/4 and again. */
  function quarters() {
    let at = 0
    return () => (at++ % 4) / 4
  }

  const four = ['1', '2', '3', '4'].map((host) => `x.org. 9 IN A 10.0.0.${host}`)

  test('rotates the addresses of a message in its bytes, and changes nothing else', () => {
    const query = parsedQuery(makeQuery('x.org', A, { edns: {} }))
    const out = Buffer.alloc(1232)
    const reply = { ...answerOf('x.org. 9 IN CNAME y.org.', ...four), flags: 0 }
    const length = writeReply(query, reply, out, 1232)
    const before = readMessage(out, length).answer.map(recordText)
    rotateAddresses(out, length, readLayout(out, length), () => 0.5)
    const after = readMessage(out, length).answer.map(recordText)
    assert.deepEqual(after, [before[0], before[3], before[4], before[1], before[2]])
  })

  test('orders aliases, other records, addresses, mail servers', () => {
    const mixed = answerOf(
      'x.org. 9 IN MX 1 m.org.',
      'x.org. 9 IN A 10.0.0.1',
      'x.org. 9 IN TXT t',
      'x.org. 9 IN CNAME y.org.',
    )
    const reply = orderReply({ ...mixed, flags: 0 }, { prefer: [] }, quarters())
    assert.deepEqual(
      reply.answer.map(({ type }) => typeName(type)),
      ['CNAME', 'TXT', 'A', 'MX'],
    )
    assert.equal(reply.answer.filter(({ type }) => type === MX).length, 1)
  })

  test('each address comes first in its turn, none is lost, and an error answer stays unchanged', () => {
    const firsts = new Set<string>()
    for (let round = 0; round < 64; round++) {
      const reply = orderReply(
        { ...answerOf(...four), flags: 0 },
        { prefer: [] },
        () => ((round * 7919 + 13) % 97) / 97,
      )
      assert.equal(new Set(reply.answer.map(recordText)).size, 4)
      firsts.add(recordText(reply.answer[0] as never))
    }
    assert.ok(firsts.size > 1)
    const bad = { ...answerOf(...four), flags: 0, rcode: 2 }
    assert.equal(orderReply(bad, { prefer: [] }, quarters()), bad)
  })

  test('prefers the addresses of earlier networks', () => {
    const mixed = records('x.org. 9 A 10.0.0.1', 'x.org. 9 A 10.1.0.1', 'x.org. 9 A 10.2.0.1', 'x.org. 9 AAAA fd00::1')
    const prefer = [cidr('10.2.0.0/16'), cidr('fd00::/8')]
    const { answer } = orderReply({ ...answerOf(), answer: mixed, flags: 0 }, { prefer }, quarters())
    assert.deepEqual(answer.slice(0, 2).map(recordText), ['x.org. 9 A 10.2.0.1', 'x.org. 9 AAAA fd00::1'])
  })

  test('draws the first address by the weights of a file', () => {
    const weights = readWeights('# weights\nx.org\n10.0.0.1 1\n10.0.0.2 255 # often\nnonsense a b\n10.0.0.3 999\n')
    assert.equal(weights.get('x.org.')?.size, 2)
    const first = (draw: number) => {
      const { answer } = orderReply({ ...answerOf(...four.slice(0, 2)), flags: 0 }, { prefer: [], weights }, () => draw)
      return recordText(answer[0] as never)
    }
    const often = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8].map(first).filter((text) => text.endsWith('10.0.0.2'))
    assert.equal(often.length, 8)
  })
})
