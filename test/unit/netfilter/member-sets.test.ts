import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkElement,
  checkMemberSetName,
  createLines,
  exchangeLines,
  fitOf,
  type HeldMemberSet,
  type MemberSet,
  MemberSetParser,
  parseMemberCounts,
  parseMemberEntries,
} from '../../../src/netfilter/member-sets.ts'

const addresses: MemberSet = { type: 'hash:ip', family: 'IPv4', maxElements: 65_536 }

function parse(lines: readonly string[]): ReadonlyMap<string, HeldMemberSet> {
  const parser = new MemberSetParser()
  for (const line of lines) parser.readLine(line)
  return parser.sets
}

test('what ipset saves is read back with its options and members, whatever else is there', () => {
  const sets = parse([
    'create PLAT-NP-C hash:ip family inet hashsize 1024 maxelem 65536 counters bucketsize 12 initval 0xa9c5b28b',
    'add PLAT-NP-C 10.0.0.1 packets 3 bytes 180',
    'create PLAT-NP-N6 hash:net family inet6 hashsize 1024 maxelem 9 bucketsize 12 initval 0xef7dc929',
    'add PLAT-NP-N6 fd00::/64',
    'add PLAT-NP-N6 ::ffff:1.2.0.0/112',
    'create PLAT-NP-LOG hash:ip,port,ip family inet hashsize 1024 maxelem 65536 timeout 60 bucketsize 12',
    'add PLAT-NP-LOG 10.0.0.1,tcp:80,10.0.0.2 timeout 59',
    'create PLAT-SEP-A hash:ip family inet hashsize 1024 maxelem 65536 timeout 60',
    'add PLAT-SEP-A 10.0.0.1 timeout 59',
    'create other hash:ip family inet hashsize 1024 maxelem 65536',
    'add other PLAT-NP-C',
  ])
  assert.deepEqual(
    sets,
    new Map([
      [
        'PLAT-NP-C',
        {
          type: 'hash:ip',
          family: 'IPv4',
          counters: true,
          timeoutSeconds: undefined,
          maxElements: 65_536,
          members: new Set(['10.0.0.1']),
        },
      ],
      [
        'PLAT-NP-N6',
        {
          type: 'hash:net',
          family: 'IPv6',
          counters: false,
          timeoutSeconds: undefined,
          maxElements: 9,
          members: new Set(['fd00::/64', '::ffff:102:0/112']),
        },
      ],
      [
        'PLAT-NP-LOG',
        {
          type: 'hash:ip,port,ip',
          family: 'IPv4',
          counters: false,
          timeoutSeconds: 60,
          maxElements: 65_536,
          members: new Set(['10.0.0.1,tcp:80,10.0.0.2']),
        },
      ],
    ]),
  )
})

test('the numbers of members are read from the short listing', () => {
  const listed = `Name: other
Type: hash:ip
Revision: 6
Header: family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0x4264a5f0
Size in memory: 200
References: 0
Number of entries: 7

Name: PLAT-NP-A
Type: hash:net
Revision: 7
Header: family inet6 hashsize 8192 maxelem 10 counters bucketsize 12 initval 0x4264a5f0
Size in memory: 820080
References: 2
Number of entries: 30000
`
  assert.deepEqual(
    parseMemberCounts(listed),
    new Map([
      [
        'PLAT-NP-A',
        { type: 'hash:net', family: 'IPv6', counters: true, timeoutSeconds: undefined, maxElements: 10, count: 30_000 },
      ],
    ]),
  )
  assert.deepEqual(parseMemberCounts(''), new Map())
})

test('members come with what they counted', () => {
  const saved =
    'create PLAT-NP-C hash:ip family inet counters\nadd PLAT-NP-C 10.0.0.1 timeout 5 packets 3 bytes 180\nadd PLAT-NP-C 10.0.0.2\n'
  assert.deepEqual(parseMemberEntries(saved), [
    { element: '10.0.0.1', packets: 3, bytes: 180 },
    { element: '10.0.0.2', packets: 0, bytes: 0 },
  ])
})

test('a large set is made with room for its members and a table of its size', () => {
  const members = new Set(Array.from({ length: 30_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`))
  assert.equal(
    createLines('PLAT-NP-A', addresses, members)[0],
    'create PLAT-NP-A hash:ip family inet hashsize 8192 maxelem 65536',
  )
  assert.equal(
    createLines('PLAT-NP-A', { ...addresses, maxElements: 100 }, members)[0],
    'create PLAT-NP-A hash:ip family inet hashsize 8192 maxelem 65536',
  )
  const logs: MemberSet = {
    type: 'hash:ip,port,ip',
    family: 'IPv6',
    timeoutSeconds: 60,
    counters: true,
    maxElements: 4096,
  }
  assert.deepEqual(createLines('PLAT-NP-L', logs, new Set()), [
    'create PLAT-NP-L hash:ip,port,ip family inet6 maxelem 4096 timeout 60 counters',
  ])
})

test('other options and more room mean an exchange, another kind means another set', () => {
  const held = {
    type: 'hash:ip',
    family: 'IPv4',
    counters: false,
    timeoutSeconds: undefined,
    maxElements: 65_536,
  } as const
  assert.equal(fitOf(addresses, held, 65_536), 'same')
  assert.equal(fitOf(addresses, { ...held, maxElements: 131_072 }, 1), 'same', 'a set never becomes smaller')
  assert.equal(fitOf(addresses, held, 65_537), 'exchange')
  assert.equal(fitOf({ ...addresses, counters: true }, held, 1), 'exchange')
  assert.equal(fitOf({ ...addresses, timeoutSeconds: 60 }, held, 1), 'exchange')
  assert.equal(fitOf({ ...addresses, type: 'hash:net' }, held, 1), 'replace')
  assert.equal(fitOf({ ...addresses, family: 'IPv6' }, held, 1), 'replace')
  assert.deepEqual(exchangeLines('PLAT-NP-A', addresses, new Set(['10.0.0.1'])), [
    'create PLAT-NP-SPARE4 hash:ip family inet maxelem 65536',
    'add PLAT-NP-SPARE4 10.0.0.1',
    'swap PLAT-NP-SPARE4 PLAT-NP-A',
    'destroy PLAT-NP-SPARE4',
  ])
})

const members = [
  [
    'hash:ip',
    'IPv4',
    ['10.0.0.1'],
    ['10.0.0.0/24', 'fd00::1', '10.0.0.1 timeout 0', '10.0.0.1-10.0.0.9', 'host', '', '10.0.0.1,10.0.0.2'],
  ],
  [
    'hash:ip',
    'IPv6',
    ['fd00::1', '::', '1:2:3:4:5:6:7:8'],
    ['10.0.0.1', 'fd00::1/64', 'fe80::1%eth0', 'fd00::1\nflush'],
  ],
  ['hash:net', 'IPv4', ['10.0.0.1', '10.0.0.0/24', '0.0.0.0/1'], ['0.0.0.0/0', '10.0.0.1/32', '10.0.0.0/24 nomatch']],
  ['hash:net', 'IPv6', ['fd00::1', 'fd00::/64', '::/1'], ['::/0', 'fd00::1/128', 'fd00::/129']],
  [
    'hash:ip,port',
    'IPv4',
    ['10.0.0.1,tcp:80', '10.0.0.1,sctp:1'],
    ['10.0.0.1,80', '10.0.0.1,tcp:80-90', '10.0.0.1,icmp:0', '10.0.0.1'],
  ],
  ['hash:ip,port,ip', 'IPv6', ['fd00::1,udp:53,fd00::2'], ['fd00::1,udp:53', 'fd00::1,udp:53,10.0.0.1']],
] as const

for (const [type, family, good, bad] of members) {
  test(`only members of ${type} of ${family} become text`, () => {
    const set: MemberSet = { type, family, maxElements: 10 }
    for (const element of good) assert.equal(checkElement('PLAT-NP-A', set, element), element)
    for (const element of bad)
      assert.throws(() => checkElement('PLAT-NP-A', set, element), { code: 'bad-set-element' }, element)
  })
}

test('a set that rules fill has no members of ours', () => {
  assert.throws(() => checkElement('PLAT-NP-L', { ...addresses, timeoutSeconds: 60 }, '10.0.0.1'), {
    code: 'bad-set-element',
  })
})

test('the same address in two ways of writing it is one member', () => {
  const set: MemberSet = { type: 'hash:net', family: 'IPv6', maxElements: 10 }
  assert.equal(checkElement('PLAT-NP-A', set, '::1.2.3.4'), checkElement('PLAT-NP-A', set, '::102:304'))
  assert.equal(checkElement('PLAT-NP-A', set, '::ffff:0.0.0.0/96'), '::ffff:0:0/96')
})

test('a name that is not ours, or more than a name, is refused', () => {
  assert.equal(checkMemberSetName('PLAT-NP-A'), 'PLAT-NP-A')
  for (const name of ['PLAT-SEP-A', 'other', 'PLAT-NP-A\nflush', 'PLAT-NP-a', `PLAT-NP-${'A'.repeat(24)}`])
    assert.throws(() => checkMemberSetName(name), { code: 'bad-set-name' })
})
