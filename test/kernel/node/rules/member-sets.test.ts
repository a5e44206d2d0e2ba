import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { emptyXorHash } from '../../../../src/model/xor-hash.ts'
import type { MemberSet } from '../../../../src/netfilter/member-sets.ts'
import { detectIptables, type Flavour, Iptables, RulesWriter } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import {
  addresses,
  asking,
  hooks,
  members,
  nothing,
  setNames,
  startWriter,
  step,
} from '../../../helpers/member-set-lab.ts'
import { skipReason, type TestNetns, withNetns } from '../../../helpers/netns.ts'

const skip = skipReason('iptables-nft', 'iptables-legacy', 'ip6tables-nft', 'ip6tables-legacy', 'ipset')

function onEachFlavour(title: string, body: (netns: TestNetns, flavour: Flavour) => Promise<void>): void {
  for (const flavour of ['nft', 'legacy'] as const) {
    test(`${title} (${flavour})`, { skip, timeout: 120_000 }, () =>
      withNetns(async (lab) => body(await lab.create(), flavour)),
    )
  }
}

async function eventually(check: () => Promise<void>): Promise<void> {
  for (let left = 400; ; left--) {
    try {
      return await check()
    } catch (error) {
      if (left === 0) throw error
      await sleep(50)
    }
  }
}

onEachFlavour(
  'sets and members come before the rules and go after them, and a change of members is one ipset restore',
  async (netns, flavour) => {
    const { writer, restores } = await startWriter(netns, flavour)
    await writer.sync(
      asking('PLAT-NP-A'),
      emptyXorHash,
      step({
        create: new Map([['PLAT-NP-A', addresses]]),
        add: new Map([['PLAT-NP-A', ['10.0.0.1', '10.0.0.2']]]),
      }),
    )
    assert.deepEqual(await members(netns), ['PLAT-NP-A 10.0.0.1', 'PLAT-NP-A 10.0.0.2'])
    assert.equal(restores[0]?.program, 'ipset')

    restores.length = 0
    const report = await writer.write(
      [],
      emptyXorHash,
      step({
        add: new Map([['PLAT-NP-A', ['10.0.0.3']]]),
        remove: new Map([['PLAT-NP-A', ['10.0.0.1']]]),
      }),
    )
    assert.deepEqual(restores, [{ program: 'ipset', input: 'add PLAT-NP-A 10.0.0.3\ndel PLAT-NP-A 10.0.0.1\n' }])
    assert.deepEqual(report.sets, { added: 1, removed: 1, restores: 1 })
    assert.equal(report.kind, 'written')
    assert.equal((await writer.write([], emptyXorHash, nothing)).kind, 'unchanged')

    restores.length = 0
    await writer.write(
      asking('PLAT-NP-B'),
      emptyXorHash,
      step({
        create: new Map([['PLAT-NP-B', addresses]]),
        add: new Map([['PLAT-NP-B', ['10.0.0.9']]]),
        destroy: ['PLAT-NP-A'],
      }),
    )
    assert.deepEqual(
      restores.map(({ program }) => program),
      ['ipset', `iptables-${flavour}-restore`],
    )
    await eventually(async () => assert.deepEqual(await members(netns), ['PLAT-NP-B 10.0.0.9']))
    await writer.stop({ signal: AbortSignal.timeout(5_000) })
  },
)

onEachFlavour('a restart reads the sets and writes only what differs; sets of others stay', async (netns, flavour) => {
  await netns.exec('ipset', 'create', 'foreign', 'hash:ip')
  await netns.exec('ipset', 'create', 'PLAT-NP-SIX', 'hash:ip', 'family', 'inet6')
  await netns.exec('ipset', 'create', 'PLAT-SEP-A', 'hash:ip', 'timeout', '60')
  await netns.exec('ipset', 'create', 'PLAT-NP-OLD', 'bitmap:port', 'range', '1-100')
  const wanted = step({
    create: new Map([
      ['PLAT-NP-A', addresses],
      ['PLAT-NP-C', { ...addresses, counters: true }],
      ['PLAT-NP-LOG', { type: 'hash:ip,port,ip', family: 'IPv4', timeoutSeconds: 60, maxElements: 100 }],
    ]),
    add: new Map([
      ['PLAT-NP-A', ['10.0.0.1', '10.0.0.2']],
      ['PLAT-NP-C', ['10.0.0.1']],
    ]),
  })
  await (await startWriter(netns, flavour)).writer.sync(asking('PLAT-NP-A'), emptyXorHash, wanted)
  await netns.exec('ipset', 'add', 'PLAT-NP-LOG', '10.0.0.1,tcp:80,10.0.0.2')

  const second = await startWriter(netns, flavour)
  assert.equal((await second.writer.sync(asking('PLAT-NP-A'), emptyXorHash, wanted)).kind, 'unchanged')
  await second.writer.stop({ signal: AbortSignal.timeout(5_000) })
  await sleep(200)
  second.restores.length = 0
  assert.deepEqual((await second.writer.verify()).drift, [])
  assert.deepEqual(second.restores, [], 'nothing is written where nothing differs')
  assert.match(
    await netns.exec('ipset', 'save', 'PLAT-NP-LOG'),
    /10\.0\.0\.1,tcp:80,10\.0\.0\.2/,
    'what rules put in stays',
  )

  const third = await startWriter(netns, flavour)
  const fewer = {
    ...wanted,
    add: new Map([
      ['PLAT-NP-A', ['10.0.0.2', '10.0.0.3']],
      ['PLAT-NP-C', ['10.0.0.1']],
    ]),
  }
  await third.writer.sync(asking('PLAT-NP-A'), emptyXorHash, fewer)
  assert.equal(third.restores[0]?.input, 'add PLAT-NP-A 10.0.0.3\ndel PLAT-NP-A 10.0.0.1\n')
  await eventually(async () =>
    assert.deepEqual(await setNames(netns), [
      'PLAT-NP-A',
      'PLAT-NP-C',
      'PLAT-NP-LOG',
      'PLAT-NP-SIX',
      'PLAT-SEP-A',
      'foreign',
    ]),
  )
})

onEachFlavour('what others change in sets is found by comparison and put back', async (netns, flavour) => {
  const { writer } = await startWriter(netns, flavour)
  const counted: MemberSet = { ...addresses, counters: true }
  await writer.sync(
    asking('PLAT-NP-A', 'PLAT-NP-B'),
    emptyXorHash,
    step({
      create: new Map([
        ['PLAT-NP-A', addresses],
        ['PLAT-NP-B', counted],
      ]),
      add: new Map([
        ['PLAT-NP-A', ['10.0.0.1', '10.0.0.2']],
        ['PLAT-NP-B', ['10.0.0.5']],
      ]),
    }),
  )
  const right = ['PLAT-NP-A 10.0.0.1', 'PLAT-NP-A 10.0.0.2', 'PLAT-NP-B 10.0.0.5']
  const meddle: readonly (readonly string[])[] = [
    ['flush PLAT-NP-A'],
    ['add PLAT-NP-A 10.9.9.9', 'del PLAT-NP-A 10.0.0.1'],
    ['swap PLAT-NP-A PLAT-NP-B'],
    ['create other hash:ip', 'swap other PLAT-NP-A', 'destroy other'],
    ['create PLAT-NP-NEW hash:net'],
  ]
  for (const lines of meddle) {
    for (const line of lines) await netns.exec('ipset', ...line.split(' '))
    const { drift } = await writer.verify()
    assert.ok(drift.length > 0, lines.join())
    assert.deepEqual(await members(netns), right, lines.join())
    assert.match(await netns.exec('ipset', 'list', '-terse', 'PLAT-NP-B'), /counters/)
  }
  await eventually(async () => {
    await writer.write([], emptyXorHash, nothing)
    assert.deepEqual(await setNames(netns), ['PLAT-NP-A', 'PLAT-NP-B'])
  })
  assert.deepEqual((await writer.verify()).drift, [])
  await writer.stop({ signal: AbortSignal.timeout(5_000) })
})

test('sets that others flush are put back within the time between two looks', { skip, timeout: 60_000 }, () =>
  withNetns(async (lab) => {
    const netns = await lab.create()
    const choice = await detectIptables(netns.run, 'IPv4', 'nft')
    const iptables = new Iptables(choice, netns.run)
    const writer = new RulesWriter({ iptables, tables: ['mangle'], hooks, log: silentLogger, setCheckIntervalMs: 100 })
    await writer.start({ signal: AbortSignal.timeout(60_000) })
    await writer.sync(
      asking('PLAT-NP-A'),
      emptyXorHash,
      step({
        create: new Map([['PLAT-NP-A', addresses]]),
        add: new Map([['PLAT-NP-A', ['10.0.0.1']]]),
      }),
    )
    await netns.exec('ipset', 'flush', 'PLAT-NP-A')
    await eventually(async () => assert.deepEqual(await members(netns), ['PLAT-NP-A 10.0.0.1']))
    await writer.stop({ signal: AbortSignal.timeout(5_000) })
  }),
)

onEachFlavour('a write that fails in any part is carried out by the next one', async (netns, flavour) => {
  const recorded = await startWriter(netns, flavour)
  const { writer } = recorded
  await writer.sync(
    asking('PLAT-NP-A'),
    emptyXorHash,
    step({
      create: new Map([['PLAT-NP-A', addresses]]),
      add: new Map([['PLAT-NP-A', ['10.0.0.1', '10.0.0.2']]]),
    }),
  )
  for (const [index, program] of ['ipset', `iptables-${flavour}-restore`].entries()) {
    const [comes, goes] = [`PLAT-NP-N${index}`, `10.0.0.${index + 1}`]
    recorded.fail = program
    const change = step({
      create: new Map([[comes, addresses]]),
      add: new Map([[comes, ['10.1.0.1']]]),
      remove: new Map([['PLAT-NP-A', [goes]]]),
    })
    await assert.rejects(writer.write(asking('PLAT-NP-A', comes), emptyXorHash, change), { code: 'killed' })
    assert.ok((await members(netns)).includes(`PLAT-NP-A ${goes}`), 'nothing goes before the rules are written')
    await writer.write([], emptyXorHash, nothing)
    const held = await members(netns)
    assert.ok(held.includes(`${comes} 10.1.0.1`) && !held.includes(`PLAT-NP-A ${goes}`))
    assert.match(await netns.exec(`iptables-${flavour}`, '-t', 'mangle', '-S', 'PLAT-NETPOL'), new RegExp(comes))
  }
  assert.deepEqual((await writer.verify()).drift, [])
})

test('members of each kind and family are read back as they were written', { skip, timeout: 60_000 }, () =>
  withNetns(async (lab) => {
    const netns = await lab.create()
    const kinds = {
      IPv4: {
        'hash:ip': ['10.0.0.1'],
        'hash:net': ['10.0.0.1', '10.0.0.0/24', '0.0.0.0/1', '128.0.0.0/1', '10.0.0.2/31'],
        'hash:ip,port': ['10.0.0.1,tcp:80', '10.0.0.1,udp:53', '10.0.0.1,sctp:65535'],
        'hash:ip,port,ip': ['10.0.0.1,tcp:80,10.0.0.2'],
      },
      IPv6: {
        'hash:ip': ['fd00::1', '::1:2', '2001:db8:0:1::1'],
        'hash:net': ['fd00::1', 'fd00::/64', '::/1', '8000::/1', '::ffff:0:0/96', 'fd00:0:0:1::/127'],
        'hash:ip,port': ['fd00::1,tcp:80', 'fd00::1,udp:53'],
        'hash:ip,port,ip': ['fd00::1,tcp:80,fd00::2'],
      },
    } as const
    for (const family of ['IPv4', 'IPv6'] as const) {
      const entries = Object.entries(kinds[family]).map(([type, elements], index) => ({
        name: `PLAT-NP-${family === 'IPv4' ? 4 : 6}-${index}`,
        set: { type: type as MemberSet['type'], family, maxElements: 1_000 },
        elements,
      }))
      const change = step({
        create: new Map(entries.map(({ name, set }) => [name, set])),
        add: new Map(entries.map(({ name, elements }) => [name, elements])),
      })
      const { writer } = await startWriter(netns, 'nft', family)
      await writer.sync(asking(), emptyXorHash, change)
      assert.deepEqual((await writer.verify()).drift, [])
      for (const { name, elements } of entries)
        assert.deepEqual((await writer.membersOf(name)).map(({ element }) => element).sort(), [...elements].sort())
    }
  }),
)

test(
  'a set grows where it has more members than it was made for, and rules that name it stay',
  { skip, timeout: 60_000 },
  () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      const { writer, restores } = await startWriter(netns, 'nft')
      const small: MemberSet = { ...addresses, maxElements: 4 }
      const many = (count: number) => Array.from({ length: count }, (_, index) => `10.0.${index >> 8}.${index & 255}`)
      await writer.sync(
        asking('PLAT-NP-A'),
        emptyXorHash,
        step({
          create: new Map([['PLAT-NP-A', small]]),
          add: new Map([['PLAT-NP-A', many(4)]]),
        }),
      )
      restores.length = 0
      await writer.write([], emptyXorHash, step({ add: new Map([['PLAT-NP-A', many(5)]]) }))
      assert.match(restores[0]?.input ?? '', /^create PLAT-NP-SPARE4 hash:ip family inet maxelem 16\n/)
      await writer.write([], emptyXorHash, step({ add: new Map([['PLAT-NP-A', many(30_000)]]) }))
      assert.equal((await members(netns)).length, 30_000)
      assert.deepEqual(await setNames(netns), ['PLAT-NP-A'])
      assert.deepEqual((await writer.verify()).drift, [])
    }),
)

test(
  'a set whose members the kernel refuses is named, and goes on when the member is gone',
  { skip, timeout: 60_000 },
  () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      const { writer } = await startWriter(netns, 'nft')
      const made = step({
        create: new Map([['PLAT-NP-A', addresses]]),
        add: new Map([['PLAT-NP-A', ['10.0.0.1', '300.0.0.1']]]),
      })
      const refused = writer.sync(asking('PLAT-NP-A'), emptyXorHash, made)
      await assert.rejects(refused, { code: 'set-refused', object: 'set PLAT-NP-A' })
      await writer.write([], emptyXorHash, step({ remove: new Map([['PLAT-NP-A', ['300.0.0.1']]]) }))
      assert.deepEqual(await members(netns), ['PLAT-NP-A 10.0.0.1'])
      assert.match(await netns.exec('iptables-nft-save', '-t', 'mangle'), /PLAT-NP-A src -j DROP/)
    }),
)

test('a write that builds on sets that others removed or filled goes through', { skip, timeout: 60_000 }, () =>
  withNetns(async (lab) => {
    const netns = await lab.create()
    const { writer } = await startWriter(netns, 'nft')
    const create = new Map([['PLAT-NP-A', { ...addresses, maxElements: 2 }]])
    await writer.sync(asking(), emptyXorHash, step({ create, add: new Map([['PLAT-NP-A', ['10.0.0.1']]]) }))
    await netns.exec('ipset', 'destroy', 'PLAT-NP-A')
    await writer.write(asking('PLAT-NP-A'), emptyXorHash, step({ add: new Map([['PLAT-NP-A', ['10.0.0.2']]]) }))
    assert.deepEqual(await members(netns), ['PLAT-NP-A 10.0.0.1', 'PLAT-NP-A 10.0.0.2'])

    await writer.write([], emptyXorHash, step({ remove: new Map([['PLAT-NP-A', ['10.0.0.1']]]) }))
    await netns.exec('ipset', 'add', 'PLAT-NP-A', '10.9.9.9')
    await writer.write([], emptyXorHash, step({ add: new Map([['PLAT-NP-A', ['10.0.0.3']]]) }))
    assert.deepEqual(await members(netns), ['PLAT-NP-A 10.0.0.2', 'PLAT-NP-A 10.0.0.3'])
    assert.deepEqual((await writer.verify()).drift, [])
  }),
)

test('what a write would change in sets is shown beforehand', { skip, timeout: 60_000 }, () =>
  withNetns(async (lab) => {
    const netns = await lab.create()
    const { writer, restores } = await startWriter(netns, 'nft')
    const log: MemberSet = { type: 'hash:ip,port,ip', family: 'IPv4', timeoutSeconds: 60, maxElements: 10 }
    const create = new Map([
      ['PLAT-NP-A', addresses],
      ['PLAT-NP-B', addresses],
      ['PLAT-NP-LOG', log],
    ])
    const add = new Map([['PLAT-NP-A', ['10.0.0.1', '10.0.0.2']]])
    await writer.sync(asking('PLAT-NP-A'), emptyXorHash, step({ create, add }))
    assert.deepEqual(await writer.preview(), [])
    restores.length = 0
    await netns.exec('ipset', 'destroy', 'PLAT-NP-B')
    await netns.exec('ipset', 'create', 'PLAT-NP-NEW', 'hash:net', 'counters')
    await netns.exec('ipset', 'del', 'PLAT-NP-A', '10.0.0.1')
    await netns.exec('ipset', 'add', 'PLAT-NP-A', '10.9.9.9')
    await netns.exec('ipset', 'add', 'PLAT-NP-LOG', '10.0.0.1,tcp:80,10.0.0.2')
    assert.deepEqual(await writer.preview(), [
      { table: 'ipset', chain: 'PLAT-NP-A', problem: 'different', wanted: ['10.0.0.1'], found: ['10.9.9.9'] },
      {
        table: 'ipset',
        chain: 'PLAT-NP-B',
        problem: 'missing',
        wanted: ['create PLAT-NP-B hash:ip family inet maxelem 65536'],
        found: [],
      },
      {
        table: 'ipset',
        chain: 'PLAT-NP-NEW',
        problem: 'unwanted',
        wanted: [],
        found: ['create PLAT-NP-NEW hash:net family inet maxelem 65536 counters'],
      },
    ])
    assert.deepEqual(restores, [])
  }),
)
