import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { flag, rcode } from '../../../../../src/node/dns/wire/codes.ts'
import { ipOf } from '../../../../helpers/addresses.ts'
import { type ResolverShape, TestResolver } from '../../../../helpers/block-resolvers.ts'
import { FakeUpstream, type Script } from '../../../../helpers/fake-upstream.ts'
import { createSelfSigned } from '../../../../helpers/self-signed.ts'
import { until } from '../../../../helpers/until.ts'
import { answerBytes, questionBytes } from '../../../../helpers/upstream-messages.ts'

const cleanups: (() => unknown)[] = []
after(async () => {
  for (const clean of cleanups.reverse()) await clean()
})

const patientMs = 30_000

async function upstream(script: Script, tls?: { key: string; cert: string }): Promise<FakeUpstream> {
  const made = await new FakeUpstream(script, tls).start()
  cleanups.push(() => made.stop())
  return made
}

function resolver(shape: ResolverShape): TestResolver {
  const made = new TestResolver({ cache: false, ...shape })
  cleanups.push(() => made.resolver.close())
  return made
}

const says =
  (address: string): Script =>
  ({ bytes }) => [answerBytes(bytes, { addresses: [address] })]

/** A port of the loopback without a listener. */
async function deadTarget() {
  const gone = await new FakeUpstream(() => []).start()
  const { target } = gone
  await gone.stop()
  return target
}

describe('forwarding', () => {
  test("the upstream's records come back with the client's ID, case and flags", async () => {
    const { target } = await upstream(says('192.0.2.7'))
    const seen = await resolver({ targets: [target] }).ask('WwW.Example.com.', { id: 0x0777, edns: 4096 })
    assert.equal(seen.id, 0x0777)
    assert.equal(seen.name, 'WwW.Example.com.')
    assert.deepEqual(seen.records, ['A 192.0.2.7 60'])
    assert.equal(seen.flags & (flag.RD | flag.RA), flag.RD | flag.RA)
  })

  test('a wrong ID, a wrong question, a question mark and garbage before the answer are skipped', async () => {
    const { target } = await upstream(({ bytes }) => {
      const wrongId = answerBytes(bytes, { addresses: ['203.0.113.1'] })
      wrongId.writeUInt16BE(bytes.readUInt16BE(0) ^ 1, 0)
      const wrongName = answerBytes(questionBytes('other.example.com.', { id: bytes.readUInt16BE(0) }), {
        addresses: ['203.0.113.2'],
      })
      return [wrongId, wrongName, bytes, Buffer.from('garbage'), answerBytes(bytes, { addresses: ['192.0.2.8'] })]
    })
    assert.deepEqual((await resolver({ targets: [target] }).ask('www.example.com.')).records, ['A 192.0.2.8 60'])
  })

  test('an answer of another type is skipped, also where the two differ like upper and lower case', async () => {
    const { target } = await upstream(({ bytes, over }) => {
      const other = answerBytes(bytes, { addresses: ['203.0.113.1'] })
      // TYPE97 instead of HTTPS, which is 65.
      other[12 + 'www.example.com.'.length + 2] = 97
      return over === 'tcp' ? [other] : [other, answerBytes(bytes, { addresses: ['192.0.2.8'] })]
    })
    const asking = resolver({ targets: [target], forward: { readTimeoutMs: 300 } })
    assert.deepEqual((await asking.ask('www.example.com.', { type: 'HTTPS' })).records, ['A 192.0.2.8 60'])
  })

  test('a question with RD does not wait for the answer to one without: the upstream answers that one only with what it knows', async () => {
    const { promise: go, resolve: release } = Promise.withResolvers<void>()
    const server = await upstream(async ({ bytes }) => {
      if ((bytes.readUInt16BE(2) & flag.RD) !== 0) return [answerBytes(bytes, { addresses: ['192.0.2.8'] })]
      await go
      return [answerBytes(bytes, {})]
    })
    const asking = resolver({ targets: [server.target], forward: { readTimeoutMs: patientMs } })
    const bare = asking.ask('www.example.com.', { flags: 0 })
    await until('it is asked without RD', () => server.asked.length === 1, patientMs)
    const first = await Promise.race([asking.ask('www.example.com.'), sleep(patientMs / 2, undefined, { ref: false })])
    release()
    assert.deepEqual(first?.records, ['A 192.0.2.8 60'])
    assert.deepEqual((await bare).records, [])
  })

  test('an upstream that sends only forged answers counts as silent: SERVFAIL', async () => {
    const { target } = await upstream(({ bytes }) => [
      answerBytes(questionBytes('other.example.com.', { id: bytes.readUInt16BE(0) }), { addresses: ['203.0.113.2'] }),
    ])
    const asking = resolver({ targets: [target], forward: { readTimeoutMs: 50 } })
    assert.equal((await asking.ask('www.example.com.')).rcode, rcode.SERVFAIL)
    assert.match(asking.events.join(), /did not answer within 50 ms/)
  })

  test('a truncated answer is asked for again over TCP', async () => {
    const many = Array.from({ length: 60 }, (_, index) => `192.0.2.${index + 1}`)
    const big = await upstream(({ bytes, over }) => [
      over === 'udp' ? answerBytes(bytes, { flags: flag.TC }) : answerBytes(bytes, { addresses: many }),
    ])
    const seen = await resolver({ targets: [big.target] }).ask('big.example.com.', { edns: 4096 })
    assert.equal(seen.records.length, 60)
    assert.equal(seen.flags & flag.TC, 0)
    const cut = await resolver({ targets: [big.target] }).ask('big.example.com.')
    assert.equal(cut.records.length, 60, 'a client gets what fits in its limit, 1232 bytes here')
  })

  test('an upstream that knows no EDNS is asked without', async () => {
    const old = await upstream(({ bytes }) =>
      bytes.readUInt16BE(10) > 0
        ? [answerBytes(bytes, { rcode: rcode.FORMERR })]
        : [answerBytes(bytes, { addresses: ['192.0.2.9'] })],
    )
    assert.deepEqual((await resolver({ targets: [old.target] }).ask('a.example.com.')).records, ['A 192.0.2.9 60'])
    assert.equal(old.names.filter((name) => name === 'a.example.com.').length, 2)
  })

  test('over TLS with the name checked, one connection for many questions', async () => {
    const tls = createSelfSigned()
    const secure = await upstream(says('192.0.2.10'), tls)
    const target = { ...secure.target, tls: { authority: tls.cert } }
    const asking = resolver({ targets: [target] })
    assert.deepEqual((await asking.ask('first.example.com.')).records, ['A 192.0.2.10 60'])
    await Promise.all(Array.from({ length: 20 }, (_, index) => asking.ask(`n${index}.example.com.`)))
    assert.equal(secure.connections, 1)
    const distrusting = resolver({ targets: [{ ...secure.target, tls: {} }] })
    assert.equal((await distrusting.ask('first.example.com.')).rcode, rcode.SERVFAIL)
  })

  test('a kept connection that the upstream has closed costs no answer', async () => {
    const server = await upstream(says('192.0.2.11'))
    const asking = resolver({ targets: [server.target], forward: { forceTcp: true } })
    await asking.ask('one.example.com.')
    await server.stop()
    await server.start(server.port)
    assert.deepEqual((await asking.ask('two.example.com.')).records, ['A 192.0.2.11 60'])
  })

  test('a dead upstream is passed over, counts as down, and comes back when it answers a probe', async () => {
    const dead = await upstream(() => [])
    const alive = await upstream(says('192.0.2.12'))
    const asking = resolver({ targets: [dead.target, alive.target], forward: { readTimeoutMs: 300 } })
    for (let count = 0; count < 4; count += 1)
      assert.deepEqual((await asking.ask(`n${count}.example.com.`)).records, ['A 192.0.2.12 60'])
    const name = `127.0.0.1:${dead.port}`
    await until('it is down', () => asking.events.includes(`${name} is down`), patientMs)
    dead.script = says('192.0.2.13')
    await until('it is up', () => asking.events.includes(`${name} is up`), patientMs)
    assert.deepEqual((await asking.ask('later.example.com.')).records, ['A 192.0.2.13 60'])
  })

  test('with no upstream listening the answer is SERVFAIL, and with failfast it comes without a query', async () => {
    const target = await deadTarget()
    const asking = resolver({ targets: [target], forward: { failfastAllUnhealthy: true } })
    for (let count = 0; count < 3; count += 1)
      assert.equal((await asking.ask(`n${count}.example.com.`)).rcode, rcode.SERVFAIL)
    await until('it is down', () => asking.events.some((event) => event.endsWith('is down')), patientMs)
    await asking.ask('last.example.com.')
    assert.match(asking.events.at(-1) ?? '', /every upstream is down/)
  })

  test('round_robin takes turns, sequential the first, random every one', async () => {
    const servers = await Promise.all(['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((address) => upstream(says(address))))
    const targets = servers.map(({ target }) => target)
    const count = async (policy: 'random' | 'round_robin' | 'sequential') => {
      const asking = resolver({ targets, forward: { policy } })
      for (let index = 0; index < 60; index += 1) await asking.ask(`${policy}${index}.example.com.`)
      // An earlier test's resolver may still probe a port that was given again.
      return servers.map(({ names }) => names.filter((name) => name.startsWith(policy)).length)
    }
    assert.deepEqual(await count('round_robin'), [20, 20, 20])
    assert.deepEqual(await count('sequential'), [60, 0, 0])
    // Each of three is missed by 60 random choices with a probability of 3e-11.
    assert.ok((await count('random')).every((asked) => asked > 0))
  })

  test('failover asks the next upstream after such an answer', async () => {
    const refusing = await upstream(({ bytes }) => [answerBytes(bytes, { rcode: rcode.REFUSED })])
    const good = await upstream(says('192.0.2.14'))
    const targets = [refusing.target, good.target]
    const asking = resolver({ targets, forward: { failover: [rcode.REFUSED] } })
    assert.deepEqual((await asking.ask('a.example.com.')).records, ['A 192.0.2.14 60'])
    assert.equal((await resolver({ targets }).ask('a.example.com.')).rcode, rcode.REFUSED)
  })

  test('next hands such an answer to the next forward that takes the name', async () => {
    const first = await upstream(({ bytes }) => [
      answerBytes(bytes, { rcode: rcode.NXDOMAIN, soa: { ttl: 9, minimum: 9 } }),
    ])
    const second = await upstream(says('192.0.2.18'))
    const asking = resolver({ targets: [first.target], next: [rcode.NXDOMAIN], others: [[second.target]] })
    assert.deepEqual((await asking.ask('a.example.com.')).records, ['A 192.0.2.18 60'])
    const staying = resolver({ targets: [first.target], others: [[second.target]] })
    assert.equal((await staying.ask('a.example.com.')).rcode, rcode.NXDOMAIN)
  })

  test('one query is in progress for a question, however many clients ask it', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const slow = await upstream(async ({ bytes }) => {
      await released
      return [answerBytes(bytes, { addresses: ['192.0.2.15'] })]
    })
    const asking = resolver({ targets: [slow.target] })
    const asked = Array.from({ length: 50 }, (_, id) =>
      asking.ask(id % 2 ? 'same.example.com.' : 'SAME.example.com.', { id }),
    )
    await until('the upstream was asked', () => slow.asked.length > 0, patientMs)
    await sleep(50)
    release()
    const seen = await Promise.all(asked)
    assert.equal(slow.asked.length, 1)
    assert.deepEqual(
      seen.map(({ id }) => id),
      Array.from({ length: 50 }, (_, id) => id),
    )
    assert.equal(seen[0]?.name, 'SAME.example.com.')
    assert.equal(seen[1]?.name, 'same.example.com.')
  })

  test('beyond max_concurrent the answer is REFUSED, and a client with few queries takes a slot of one with many', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const slow = await upstream(async ({ bytes }) => {
      await released
      return [answerBytes(bytes, { addresses: ['192.0.2.16'] })]
    })
    const asking = resolver({ targets: [slow.target], forward: { maxConcurrent: 10 } })
    const greedy = Array.from({ length: 12 }, (_, index) =>
      asking.ask(`n${index}.example.com.`, { client: '192.0.2.66' }),
    )
    const modest = asking.ask('modest.example.com.', { client: '192.0.2.67' })
    await until(
      'three were refused',
      () => asking.events.filter((event) => event === 'rejected').length === 3,
      patientMs,
    )
    release()
    const refused = (await Promise.all(greedy)).filter((seen) => seen.rcode === rcode.REFUSED)
    assert.equal(refused.length, 3, '2 beyond the limit, 1 for the modest client')
    assert.deepEqual((await modest).records, ['A 192.0.2.16 60'])
    assert.equal((await asking.ask('after.example.com.', { client: '192.0.2.66' })).rcode, rcode.NOERROR)
  })

  test('source_address is where queries come from, over UDP and TCP', async () => {
    const { target, asked } = await upstream(says('192.0.2.18'))
    const isQuery = ({ name }: { readonly name: string }) => name !== '.'
    const sourceAddress = ipOf('127.0.0.9')
    await resolver({ targets: [target], forward: { sourceAddress } }).ask('www.example.com.')
    await resolver({ targets: [target], forward: { sourceAddress, forceTcp: true } }).ask('www.example.com.')
    assert.deepEqual(
      asked.filter(isQuery).map(({ over, from }) => `${over} ${from}`),
      ['udp 127.0.0.9', 'tcp 127.0.0.9'],
    )
  })

  test('a connection older than max_age takes no more queries', async () => {
    const server = await upstream(says('192.0.2.19'))
    const kept = resolver({ targets: [server.target], forward: { forceTcp: true } })
    const renewed = resolver({ targets: [server.target], forward: { forceTcp: true, maxAgeMs: 1 } })
    for (const asking of [kept, renewed]) {
      const before = server.connections
      for (const name of ['a', 'b', 'c']) {
        await asking.ask(`${name}.example.com.`)
        await sleep(2)
      }
      assert.equal(server.connections - before, asking === kept ? 1 : 3)
    }
  })

  test('max_connect_attempts says how often a query is tried, without it twice at each upstream', async () => {
    for (const [maxConnectAttempts, tries] of [
      [1, [1, 0]],
      [3, [2, 1]],
      [undefined, [2, 2]],
    ] as const) {
      const silent = [await upstream(() => []), await upstream(() => [])]
      const targets = silent.map(({ target }) => target)
      const asking = resolver({ targets, forward: { maxConnectAttempts, maxFails: 0, readTimeoutMs: 20 } })
      assert.equal((await asking.ask('www.example.com.')).rcode, rcode.SERVFAIL)
      const seen = () => silent.map(({ names }) => names.filter((name) => name !== '.').length)
      await until('all have come', () => seen().join() === tries.join(), patientMs)
    }
  })

  test('max_connect_attempts 0 tries until an answer comes', async () => {
    let silence = 5
    const { target, asked } = await upstream(({ bytes }) => {
      silence -= 1
      return silence >= 0 ? [] : [answerBytes(bytes, { addresses: ['192.0.2.20'] })]
    })
    const forward = { maxConnectAttempts: 0, maxFails: 0, readTimeoutMs: 100 }
    const seen = await resolver({ targets: [target], forward }).ask('www.example.com.')
    assert.deepEqual(seen.records, ['A 192.0.2.20 60'])
    assert.ok(asked.length >= 6)
  })

  test('an upstream without a route is unreachable like one that does not listen', async () => {
    // The kernel refuses to connect to the broadcast address, as it does where a network has no route: nothing is sent.
    const asking = resolver({ targets: [{ address: ipOf('255.255.255.255'), port: 53 }] })
    assert.equal((await asking.ask('www.example.com.')).rcode, rcode.SERVFAIL)
    assert.equal((await asking.ask('www.example.com.')).rcode, rcode.SERVFAIL)
  })

  test('an upstream that leads back here is disabled and logged, and asked again when it does not lead back', async () => {
    let asking: TestResolver | undefined
    let leadsBack = true
    const mirror = await upstream(async ({ bytes, name }) => {
      if (!leadsBack) return [answerBytes(bytes, { addresses: ['192.0.2.17'] })]
      await asking?.resolve(name, { type: 'HINFO' })
      return []
    })
    asking = resolver({ targets: [mirror.target], loop: true, forward: { readTimeoutMs: 200, maxFails: 0 } })
    await until('the loop is seen', () => asking?.events.some((event) => event.endsWith('loops')) === true, patientMs)
    const before = mirror.asked.length
    assert.equal((await asking.ask('www.example.com.')).rcode, rcode.SERVFAIL)
    assert.equal(mirror.names.slice(before).includes('www.example.com.'), false)
    leadsBack = false
    await until(
      'it is asked again',
      () => asking?.events.some((event) => event.endsWith('no longer')) === true,
      patientMs,
    )
    assert.deepEqual((await asking.ask('www.example.com.')).records, ['A 192.0.2.17 60'])
  })
})
