import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Run } from '../../../../src/host/index.ts'
import { proxyHooks } from '../../../../src/netfilter/hooks.ts'
import type { Chain } from '../../../../src/netfilter/ruleset.ts'
import { batchSizes } from '../../../../src/node/rules/batches.ts'
import { type Flavour, RulesError, type RulesObserver, type VerifyReport } from '../../../../src/node/rules/index.ts'
import { skipReason, type TestNetns, withNetns } from '../../../helpers/netns.ts'
import { writeRuleset } from '../../../helpers/rulesets.ts'
import { hashOf, makeWriter, rulesetOf, savedTable, serviceChains } from './rules-fixture.ts'

const skip = skipReason('iptables-nft', 'iptables-legacy', 'nft')

function onEachFlavour(title: string, body: (netns: TestNetns, flavour: Flavour) => Promise<void>): void {
  for (const flavour of ['nft', 'legacy'] as const) {
    test(`${title} (${flavour})`, { skip, timeout: 120_000 }, () =>
      withNetns(async (lab) => body(await lab.create(), flavour)),
    )
  }
}

function change(set: ReadonlyMap<string, Chain>, remove: readonly string[] = []) {
  return [{ table: 'nat' as const, set, remove }]
}

/** Passes everything on, and counts and keeps what is written. */
function recordRestores(netns: TestNetns, intercept: (text: string) => string = (text) => text) {
  const texts: string[] = []
  const run: Run = (file, args, options) => {
    if (!file.endsWith('-restore')) return netns.run(file, args, options)
    texts.push(options.input ?? '')
    return netns.run(file, args, { ...options, input: intercept(options.input ?? '') })
  }
  return { run, texts }
}

/** What `nft monitor` says about rules and chains while `body` runs. */
async function monitorRules(netns: TestNetns, body: () => Promise<unknown>): Promise<string[]> {
  const monitor = await netns.start('nft', ['monitor'], { stdout: 'pipe' })
  let output = ''
  monitor.stdout?.on('data', (chunk: Buffer) => {
    output += chunk
  })
  await markUntilSeen(netns, () => output, 'plt-begin')
  output = ''
  await body()
  await markUntilSeen(netns, () => output, 'plt-end')
  monitor.kill('SIGKILL')
  return output.split('\n').filter((line) => /^(add|delete|insert|replace) (rule|chain)/.test(line))
}

/** The monitor reports events in order, but none from before it listens: repeats a harmless one until it is reported. */
async function markUntilSeen(netns: TestNetns, output: () => string, mark: string): Promise<void> {
  while (!output().includes(mark)) {
    await netns.exec('nft', 'add', 'table', 'inet', mark)
    await new Promise((resolve) => setTimeout(resolve, 20))
    await netns.exec('nft', 'delete', 'table', 'inet', mark)
  }
}

describe('the first sync', () => {
  onEachFlavour('writes everything into an empty kernel, stamped and hooked', async (netns, flavour) => {
    const writer = await makeWriter(netns, flavour)
    const report = await writeRuleset(writer, rulesetOf(2), hashOf('a'))
    assert.equal(report.kind, 'written')
    const nat = await netns.exec(`iptables-${flavour}-save`, '-t', 'nat')
    assert.match(nat, /-A PLAT-SERVICES -d 10\.96\.0\.1\/32 -p tcp -m tcp --dport 80 .*-j PLAT-SVC-1/)
    assert.match(nat, /-A PLAT-SEP-1B -p tcp -j DNAT --to-destination 10\.244\.0\.3:8080/)
    assert.match(nat, /-A PREROUTING .*-j PLAT-SERVICES/)
    assert.match(nat, /-A PLAT-STATE -m comment --comment "rules [0-9a-f]{16}\/9"/)
    assert.match(await savedTable(netns, flavour, 'filter'), /-A PLAT-SERVICES -d 10\.97\.0\.1\/32 .*-j REJECT/)
    assert.deepEqual((await writer.verify()).drift, [])
  })

  onEachFlavour(
    'recognises by PLAT-STATE what an earlier process wrote, and writes nothing',
    async (netns, flavour) => {
      await writeRuleset(await makeWriter(netns, flavour), rulesetOf(3), hashOf('a'))
      const before = await netns.exec(`iptables-${flavour}-save`, '-c', '-t', 'nat')
      const { run, texts } = recordRestores(netns)
      const restarted = await makeWriter(netns, flavour, { run })
      const events = await monitorRules(netns, async () => {
        assert.equal((await writeRuleset(restarted, rulesetOf(3), hashOf('a'))).kind, 'unchanged')
        assert.deepEqual((await restarted.verify()).drift, [])
      })
      assert.deepEqual(events, [])
      assert.deepEqual(texts, [])
      const after = await netns.exec(`iptables-${flavour}-save`, '-c', '-t', 'nat')
      assert.equal(after.replace(/^#.*$/gm, ''), before.replace(/^#.*$/gm, ''))
    },
  )

  onEachFlavour(
    'after a restart writes only what differs, and removes what is no longer wanted',
    async (netns, flavour) => {
      await writeRuleset(await makeWriter(netns, flavour), rulesetOf(3), hashOf('a'))
      await netns.exec(`iptables-${flavour}`, '-t', 'nat', '-N', 'PLAT-SVC-STALE')
      const restarted = await makeWriter(netns, flavour)
      const next = { ...rulesetOf(3), nat: new Map([...rulesetOf(3).nat, ...serviceChains(1, 9090)]) }
      const report = await writeRuleset(restarted, next, hashOf('b'))
      assert.deepEqual([report.chainsSet, report.chainsRemoved, report.restores], [2, 1, 1])
      assert.doesNotMatch(await savedTable(netns, flavour, 'nat'), /STALE/)
      assert.deepEqual((await restarted.verify()).drift, [])
    },
  )

  onEachFlavour('of 1,000 Services goes in batches', async (netns, flavour) => {
    const batches = { ...batchSizes.nft, linesPerCommit: 1500, commitsPerRestore: 3 }
    const writer = await makeWriter(netns, flavour, { batches })
    const report = await writeRuleset(writer, rulesetOf(1000), hashOf('a'))
    assert.equal(report.restores, 3 + 1 + 1, 'seven commits of new chains, what packets meet, and the hooks')
    const restarted = await makeWriter(netns, flavour)
    assert.equal((await writeRuleset(restarted, rulesetOf(1000), hashOf('a'))).kind, 'unchanged')
    const shrunk = await makeWriter(netns, flavour, { batches })
    assert.equal((await writeRuleset(shrunk, rulesetOf(10), hashOf('b'))).chainsRemoved, 2970)
    assert.deepEqual((await shrunk.verify()).drift, [])
  })
})

describe('a write', () => {
  onEachFlavour('carries one Service, the same bytes whatever else there is', async (netns, flavour) => {
    const writer = await makeWriter(netns, flavour)
    await writeRuleset(writer, rulesetOf(5), hashOf('a'))
    const small = await writer.write(change(serviceChains(3, 9090)), hashOf('b'))
    await writeRuleset(writer, rulesetOf(300), hashOf('c'))
    const large = await writer.write(change(serviceChains(3, 9090)), hashOf('b'))
    assert.equal(small.chainsSet, 2)
    assert.equal(large.chainsSet, 2)
    assert.ok(
      Math.abs(large.bytes - small.bytes) <= 2,
      `${small.bytes} and ${large.bytes} bytes: only the count in the stamp grows`,
    )
    assert.match(
      await savedTable(netns, flavour, 'nat'),
      /PLAT-SEP-3A -p tcp -j DNAT --to-destination 10\.244\.0\.2:9090/,
    )
  })

  onEachFlavour('of what stands already costs nothing; new objects alone cost a stamp', async (netns, flavour) => {
    const { run, texts } = recordRestores(netns)
    const writer = await makeWriter(netns, flavour, { run })
    await writeRuleset(writer, rulesetOf(2), hashOf('a'))
    texts.length = 0
    assert.equal((await writer.write(change(serviceChains(1)), hashOf('a'))).kind, 'unchanged')
    assert.equal((await writeRuleset(writer, rulesetOf(2), hashOf('a'))).kind, 'unchanged')
    assert.deepEqual(texts, [])
    assert.equal((await writer.write([], hashOf('b'))).chainsSet, 0)
    assert.equal(texts.length, 1)
    assert.doesNotMatch(texts[0] ?? '', /\*filter|PLAT-S[EV]/)
  })

  onEachFlavour('that the kernel refuses names the line, and is made good by the next one', async (netns, flavour) => {
    const writer = await makeWriter(netns, flavour)
    await writeRuleset(writer, rulesetOf(2), hashOf('a'))
    const before = await savedTable(netns, flavour, 'nat')
    const bad: Chain = [{ matches: [], target: { kind: 'jump', chain: 'PLAT-NOWHERE' } }]
    const failing = writer.write(change(new Map([...serviceChains(0, 9090), ['PLAT-SVC-1', bad]])), hashOf('b'))
    await assert.rejects(failing, (error: unknown) => {
      assert.ok(error instanceof RulesError)
      assert.equal(error.code, 'restore-failed')
      assert.equal(error.object, 'chain PLAT-SVC-1')
      assert.equal(error.line?.text, '-A PLAT-SVC-1 -j PLAT-NOWHERE')
      return true
    })
    assert.equal(await savedTable(netns, flavour, 'nat'), before)
    assert.equal(writer.health().level, 'degraded')
    await writer.write(change(serviceChains(1)), hashOf('c'))
    const after = await savedTable(netns, flavour, 'nat')
    assert.match(after, /PLAT-SEP-0A .*10\.244\.0\.2:9090/)
    assert.doesNotMatch(after, /NOWHERE/)
    assert.equal(writer.health().level, 'ok')
    const restarted = await makeWriter(netns, flavour)
    const wanted = { ...rulesetOf(2), nat: new Map([...rulesetOf(2).nat, ...serviceChains(0, 9090)]) }
    assert.equal((await writeRuleset(restarted, wanted, hashOf('c'))).kind, 'unchanged')
  })

  onEachFlavour(
    'whose program is killed or missing is retried whole by a write without changes',
    async (netns, flavour) => {
      let failure: 'none' | 'killed' | 'missing' = 'none'
      const run: Run = (file, args, options) => {
        if (failure === 'none' || !file.endsWith('-restore')) return netns.run(file, args, options)
        if (failure === 'missing') return netns.run('plt-no-such-program', args, options)
        return netns.run('sh', ['-c', 'kill -9 $$'], options)
      }
      const writer = await makeWriter(netns, flavour, { run })
      await writeRuleset(writer, rulesetOf(2), hashOf('a'))
      failure = 'killed'
      await assert.rejects(writer.write(change(serviceChains(0, 9090)), hashOf('b')), { code: 'killed' })
      failure = 'missing'
      await assert.rejects(writer.write(change(serviceChains(1, 9091)), hashOf('c')))
      failure = 'none'
      assert.equal((await writer.write([], hashOf('c'))).chainsSet, 4)
      const nat = await savedTable(netns, flavour, 'nat')
      assert.match(nat, /10\.244\.0\.2:9090/)
      assert.match(nat, /10\.244\.0\.2:9091/)
      assert.deepEqual((await writer.verify()).drift, [])
    },
  )

  onEachFlavour(
    'empties a chain that is not wanted where rules of others keep it, and goes through',
    async (netns, flavour) => {
      const { run, texts } = recordRestores(netns)
      const writer = await makeWriter(netns, flavour, { run })
      await writeRuleset(writer, rulesetOf(2), hashOf('a'))
      for (const args of ['-N OTHER', '-A OTHER -j PLAT-SVC-1', '-N PLAT-FOREIGN', '-A OTHER -j PLAT-FOREIGN'])
        await netns.exec(`iptables-${flavour}`, '-t', 'nat', ...args.split(' '))
      const services = new Map([...rulesetOf(1).nat].filter(([name]) => name === 'PLAT-SERVICES'))
      const smaller = change(new Map([...services, ...serviceChains(0, 9090)]), [...serviceChains(1).keys()])
      await writer.write(smaller, hashOf('b'))
      const nat = await savedTable(netns, flavour, 'nat')
      assert.match(nat, /10\.244\.0\.2:9090/)
      assert.match(nat, /^:PLAT-SVC-1 /m)
      assert.doesNotMatch(nat, /-A PLAT-SVC-1 |PLAT-SEP-1/)
      assert.deepEqual((await writer.verify()).drift, [{ table: 'nat', chain: 'PLAT-FOREIGN', problem: 'unwanted' }])
      texts.length = 0
      assert.deepEqual((await writer.verify()).drift, [])
      assert.deepEqual(texts, [])
      await writer.write(change(serviceChains(1)), hashOf('c'))
      assert.match(await savedTable(netns, flavour, 'nat'), /-A PLAT-SVC-1 .*-j PLAT-SEP-1A/)
      assert.equal(writer.health().level, 'ok')
    },
  )

  test('waits for the xtables lock, tells who is in the way, and is retried', { skip, timeout: 60_000 }, () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      const lock = `/tmp/${netns.name}.lock`
      // A lock file of its own: the machine's belongs to everybody.
      const run: Run = (file, args, options) =>
        netns.run(
          file,
          args.map((arg, index) => (args[index - 1] === '--wait' ? '1' : arg)),
          {
            ...options,
            env: { XTABLES_LOCKFILE: lock },
          },
        )
      const writer = await makeWriter(netns, 'legacy', { run })
      await writeRuleset(writer, rulesetOf(1), hashOf('a'))
      const holder = await netns.start('flock', [lock, 'sleep', '60'])
      const isHeld = () =>
        netns.exec('flock', '--nonblock', lock, 'true').then(
          () => false,
          () => true,
        )
      while (!(await isHeld())) await new Promise((resolve) => setTimeout(resolve, 20))
      await assert.rejects(writer.write(change(serviceChains(0, 9090)), hashOf('b')), { code: 'lock-busy' })
      holder.kill('SIGKILL')
      await holder.exited
      assert.equal((await writer.write([], hashOf('b'))).chainsSet, 2)
      await netns.exec('rm', '-f', lock)
    }),
  )

  test('before the first sync is refused', async () => {
    await withNetns(async (lab) => {
      const writer = await makeWriter(await lab.create(), 'nft')
      await assert.rejects(writer.write([], hashOf('a')), { code: 'not-synced' })
    })
  })
})

describe('what others change', () => {
  onEachFlavour('is shown beforehand, without changing anything', async (netns, flavour) => {
    const { run, texts } = recordRestores(netns)
    const writer = await makeWriter(netns, flavour, { run })
    await assert.rejects(writer.preview(), { code: 'not-synced' })
    await writeRuleset(writer, rulesetOf(2), hashOf('a'))
    assert.deepEqual(await writer.preview(), [])
    await netns.exec(`iptables-${flavour}`, '-t', 'nat', '-A', 'PLAT-SVC-1', '-j', 'RETURN')
    await netns.exec(`iptables-${flavour}`, '-t', 'nat', '-N', 'PLAT-OTHER')
    await netns.exec(`iptables-${flavour}`, '-t', 'nat', '-F', 'PREROUTING')
    texts.length = 0
    const differences = await writer.preview()
    assert.deepEqual(
      differences.map(({ table, chain, problem }) => `${table} ${chain} ${problem}`),
      ['nat PLAT-OTHER unwanted', 'nat PLAT-SVC-1 different', 'nat PREROUTING hooks'],
    )
    assert.deepEqual(differences[1]?.found.at(-1), '-j RETURN')
    assert.deepEqual(texts, [])
    const { packets } = await writer.countersOf('nat', 'PLAT-SVC-1')
    assert.equal(packets, 0)
  })

  onEachFlavour('one rule deleted by hand brings back exactly its chain', async (netns, flavour) => {
    const { run, texts } = recordRestores(netns)
    const writer = await makeWriter(netns, flavour, { run })
    await writeRuleset(writer, rulesetOf(5), hashOf('a'))
    const before = await savedTable(netns, flavour, 'nat')
    await netns.exec(`iptables-${flavour}`, '-t', 'nat', '-D', 'PLAT-SVC-2', '1')
    texts.length = 0
    const events = await monitorRules(netns, async () => {
      const { drift } = await writer.verify()
      assert.deepEqual(drift, [{ table: 'nat', chain: 'PLAT-SVC-2', problem: 'different' }])
    })
    assert.equal(texts.length, 1)
    if (flavour === 'nft') assert.ok(events.length > 0)
    for (const event of events) assert.match(event, / nat PLAT-SVC-2 /)
    assert.equal(await savedTable(netns, flavour, 'nat'), before)
    assert.deepEqual((await writer.verify()).drift, [])
  })

  onEachFlavour('flushed tables, deleted stamps and foreign PLAT chains are put right', async (netns, flavour) => {
    const writer = await makeWriter(netns, flavour)
    await writeRuleset(writer, rulesetOf(2), hashOf('a'))
    const before = await savedTable(netns, flavour, 'nat')
    await netns.exec(`iptables-${flavour}`, '-t', 'nat', '-F')
    await netns.exec(`iptables-${flavour}`, '-t', 'nat', '-X')
    await netns.exec(`iptables-${flavour}`, '-t', 'filter', '-N', 'PLAT-OTHER')
    await netns.exec(`iptables-${flavour}`, '-t', 'filter', '-F', 'PLAT-STATE')
    const { drift } = await writer.verify()
    const summary = drift.map((each) => `${each.table} ${each.chain} ${each.problem}`)
    for (const line of [
      'nat PLAT-SVC-1 missing',
      'filter PLAT-OTHER unwanted',
      'filter PLAT-STATE different',
      'nat PREROUTING hooks',
    ])
      assert.ok(summary.includes(line), `${line} in ${summary}`)
    assert.deepEqual((await writer.verify()).drift, [])
    assert.equal(await savedTable(netns, flavour, 'nat'), before)
    const restarted = await makeWriter(netns, flavour)
    assert.equal((await writeRuleset(restarted, rulesetOf(2), hashOf('a'))).kind, 'unchanged')
  })

  onEachFlavour(
    'a started writer looks by itself, also while it writes, and tells its observer',
    async (netns, flavour) => {
      const reports: VerifyReport[] = []
      const observer: RulesObserver = {
        wrote: () => {},
        failed: (error) => assert.fail(String(error)),
        verified: (report) => void reports.push(report),
      }
      const writer = await makeWriter(netns, flavour, { observer, verifyIntervalMs: 10 })
      const scope = { signal: AbortSignal.timeout(30_000) }
      await writer.start(scope)
      await writeRuleset(writer, rulesetOf(2), hashOf('a'))
      for (let port = 9000; port < 9010; port++)
        await writer.write(change(serviceChains(0, port)), hashOf(String(port)))
      await netns.exec(`iptables-${flavour}`, '-t', 'nat', '-F', 'PLAT-SVC-1')
      while (!reports.some((report) => report.drift.length > 0)) await new Promise((resolve) => setTimeout(resolve, 20))
      await writer.stop(scope)
      const drift = reports.flatMap((report) => report.drift)
      assert.deepEqual(
        drift,
        [{ table: 'nat', chain: 'PLAT-SVC-1', problem: 'different' }],
        'its own writes are no drift',
      )
      const seen = reports.length
      await new Promise((resolve) => setTimeout(resolve, 100))
      assert.equal(reports.length, seen, 'after stop it looks no more')
    },
  )

  onEachFlavour('hooks stand first, once and in order, and foreign rules stay', async (netns, flavour) => {
    const iptables = `iptables-${flavour}`
    await netns.exec(iptables, '-A', 'FORWARD', '-s', '192.0.2.1', '-j', 'DROP')
    await netns.exec(iptables, '-P', 'FORWARD', 'DROP')
    const writer = await makeWriter(netns, flavour)
    await writeRuleset(writer, rulesetOf(1), hashOf('a'))
    const placed = await netns.exec(iptables, '-S', 'FORWARD')
    const jumps = proxyHooks().filter((hook) => hook.builtin === 'FORWARD')
    assert.equal(placed.trim().split('\n').length, 1 + jumps.length + 1)
    assert.match(
      placed,
      /^-P FORWARD DROP\n.*-j PLAT-FORWARD\n.*-j PLAT-SERVICES\n.*-j PLAT-INVALID\n.*-j PLAT-FORWARD-PODS\n-A FORWARD -s 192\.0\.2\.1\/32 -j DROP\n$/,
    )

    await netns.exec(iptables, '-I', 'FORWARD', '-s', '192.0.2.2', '-j', 'DROP')
    await netns.exec(iptables, '-A', 'FORWARD', '-j', 'PLAT-FORWARD')
    await netns.exec(iptables, '-A', 'INPUT', '-m', 'ttl', '--ttl-eq', '7', '-j', 'PLAT-FORWARD')
    const { drift } = await writer.verify()
    assert.deepEqual(drift, [
      { table: 'filter', chain: 'INPUT', problem: 'hooks' },
      { table: 'filter', chain: 'FORWARD', problem: 'hooks' },
    ])
    const repaired = await netns.exec(iptables, '-S', 'FORWARD')
    assert.equal(repaired.replace('-A FORWARD -s 192.0.2.2/32 -j DROP\n', ''), placed)
    assert.match(repaired, /PLAT-FORWARD-PODS\n-A FORWARD -s 192\.0\.2\.2\/32 -j DROP\n/)
    assert.deepEqual((await writer.verify()).drift, [])
  })
})
