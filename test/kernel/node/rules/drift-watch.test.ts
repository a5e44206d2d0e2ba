import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NftMonitor, type Run } from '../../../../src/host/index.ts'
import type { Chain } from '../../../../src/netfilter/ruleset.ts'
import { DriftWatch, type RulesObserver, type RulesWriter } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { skipReason, type TestNetns, withNetns } from '../../../helpers/netns.ts'
import { writeRuleset } from '../../../helpers/rulesets.ts'
import { until, untilAsync } from '../../../helpers/until.ts'
import { hashOf, makeWriter, rulesetOf, savedTable, serviceChains } from './rules-fixture.ts'

const skip = skipReason('iptables-nft', 'nft')
const scope = { signal: AbortSignal.timeout(60_000) }

interface Watched {
  readonly netns: TestNetns
  readonly writer: RulesWriter
  /** Tables saved and chains listed so far. */
  readonly reads: string[]
  /** `table chain problem` of all drift so far. */
  readonly drift: string[]
  waitForText(table: string, text: string): Promise<void>
}

function watched(title: string, body: (watched: Watched) => Promise<void>): void {
  test(title, { skip, timeout: 90_000 }, () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      const reads: string[] = []
      const drift: string[] = []
      const run: Run = (file, args, options) => {
        if (!file.endsWith('-restore')) reads.push([file, ...args].join(' '))
        return netns.run(file, args, options)
      }
      const observer: RulesObserver = {
        wrote: () => {},
        failed: () => {},
        verified: (report) =>
          void drift.push(...report.drift.map((each) => `${each.table} ${each.chain} ${each.problem}`)),
      }
      const writer = await makeWriter(netns, 'nft', { run, observer, verifyIntervalMs: 3_600_000 })
      const monitor = new NftMonitor(silentLogger, netns.start)
      monitor.subscribe(new DriftWatch({ family: 'IPv4', writer, log: silentLogger }))
      const waitForText = (table: string, text: string) =>
        untilAsync('the rules are as before', async () => (await savedTable(netns, 'nft', table)) === text, 30_000)
      try {
        await writer.start(scope)
        await writeRuleset(writer, rulesetOf(3), hashOf('a'))
        await monitor.start()
        await untilListening(netns, () => reads.some((read) => read.includes('-S PLAT-MARK-MASQ')))
        await untilAsync('all was compared', async () => reads.some((read) => read.endsWith(' -S')), 30_000)
        await writer.verify()
        await body({ netns, writer, reads, drift, waitForText })
      } finally {
        await monitor.stop(scope)
        await writer.stop(scope)
      }
    }),
  )
}

/** A change of ours by hand, harmless and again and again, until the watch looks at it. */
async function untilListening(netns: TestNetns, hasLooked: () => boolean): Promise<void> {
  await untilAsync(
    'the monitor listens',
    async () => {
      await netns.exec('iptables-nft', '-t', 'nat', '-I', 'PLAT-MARK-MASQ', '-j', 'RETURN')
      await netns.exec('iptables-nft', '-t', 'nat', '-D', 'PLAT-MARK-MASQ', '-j', 'RETURN').catch(() => {})
      return hasLooked()
    },
    30_000,
  )
}

watched('a chain that others change is read alone and put right', async ({ netns, reads, drift, waitForText }) => {
  const before = await savedTable(netns, 'nft', 'nat')
  reads.length = 0
  drift.length = 0
  await netns.exec('iptables-nft', '-t', 'nat', '-D', 'PLAT-SVC-2', '1')
  await waitForText('nat', before)
  // The report follows the write.
  await until('the drift is reported', () => drift.some((each) => each.includes('PLAT-SVC-2')), 30_000)
  assert.deepEqual(
    drift.filter((each) => !each.includes('PLAT-MARK-MASQ')),
    ['nat PLAT-SVC-2 different'],
  )
  assert.ok(!reads.some((read) => read.endsWith(' -S')), String(reads))
})

watched('hooks, stamps and whole tables that others remove come back', async ({ netns, waitForText }) => {
  const before = await savedTable(netns, 'nft', 'nat')
  const filter = await savedTable(netns, 'nft', 'filter')
  await netns.exec('iptables-nft', '-t', 'nat', '-F', 'PREROUTING')
  await waitForText('nat', before)
  await netns.exec('iptables-nft', '-t', 'filter', '-F', 'PLAT-STATE')
  await waitForText('filter', filter)
  await netns.exec('iptables-nft', '-t', 'nat', '-F')
  await netns.exec('iptables-nft', '-t', 'nat', '-X')
  await waitForText('nat', before)
  await netns.exec('nft', 'delete', 'table', 'ip', 'filter')
  await waitForText('filter', filter)
})

watched('writes of its own are not read back', async ({ netns, writer, reads, drift }) => {
  reads.length = 0
  for (let port = 9000; port < 9005; port++) {
    await writer.write([{ table: 'nat', set: serviceChains(0, port), remove: [] }], hashOf(String(port)))
  }
  await netns.exec('iptables-nft', '-t', 'nat', '-N', 'PLAT-OTHER')
  await untilAsync(
    'the chain of others is removed',
    async () => !(await savedTable(netns, 'nft', 'nat')).includes('PLAT-OTHER'),
    30_000,
  )
  assert.deepEqual(
    reads.filter((read) => /PLAT-(SVC|SEP|STATE)| -S$/.test(read)),
    [],
  )
  assert.deepEqual(drift.slice(-1), ['nat PLAT-OTHER unwanted'])
})

test('a write that builds on what others removed brings that back and goes through', { skip, timeout: 60_000 }, () =>
  withNetns(async (lab) => {
    for (const flavour of ['nft', 'legacy'] as const) {
      const netns = await lab.create()
      const writer = await makeWriter(netns, flavour)
      await writeRuleset(writer, rulesetOf(2), hashOf('a'))
      const before = await savedTable(netns, flavour, 'nat')
      await netns.exec(`iptables-${flavour}`, '-t', 'nat', '-F')
      await netns.exec(`iptables-${flavour}`, '-t', 'nat', '-X')
      const chain: Chain = [{ matches: [], target: { kind: 'jump', chain: 'PLAT-SEP-0A' } }]
      await writer.write([{ table: 'nat', set: new Map([['PLAT-SVC-0', chain]]), remove: [] }], hashOf('b'))
      assert.match(await savedTable(netns, flavour, 'nat'), /-A PLAT-SVC-0 -j PLAT-SEP-0A\n/)
      await writer.verify()
      await writer.write([{ table: 'nat', set: serviceChains(0), remove: [] }], hashOf('a'))
      assert.equal(await savedTable(netns, flavour, 'nat'), before)
    }
  }),
)
