import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run } from '../../../../src/host/index.ts'
import { probeIptables } from '../../../../src/node/rules/index.ts'
import { skipReason, type TestNetns, withNetns } from '../../../helpers/netns.ts'

const skip = skipReason('iptables-nft', 'iptables-legacy', 'unshare')

function inNetns(body: (netns: TestNetns) => Promise<void>): () => Promise<void> {
  return () => withNetns(async (lab) => body(await lab.create()))
}

test(
  'a node that has all is found well, and nothing is changed by looking',
  { skip },
  inNetns(async (netns) => {
    const findings = await probeIptables(netns.run)
    assert.deepEqual(
      findings.map((finding) => finding.level),
      ['ok', 'ok', 'ok'],
      JSON.stringify(findings),
    )
    assert.match(findings[0]?.what ?? '', /^iptables 1\.\d+\.\d+, (nft|legacy): /)
    assert.equal(await netns.exec('nft', 'list', 'tables'), '')
    assert.equal(await netns.exec('cat', '/proc/net/ip_tables_names'), '')
  }),
)

test(
  'rules in both kinds of tables are reported with a remedy',
  { skip },
  inNetns(async (netns) => {
    for (const flavour of ['nft', 'legacy'])
      await netns.exec(`iptables-${flavour}`, '-A', 'INPUT', '-s', '192.0.2.1', '-j', 'DROP')
    const [, mixture] = await probeIptables(netns.run)
    assert.equal(mixture?.level, 'warn')
    assert.match(mixture?.what ?? '', /both kinds.*1 in nft, 1 in legacy/)
    assert.match(mixture?.remedy ?? '', /update-alternatives/)
  }),
)

test(
  'exactly the match that does not work is named',
  { skip },
  inNetns(async (netns) => {
    const run: Run = (file, args, options) =>
      netns.run(
        file,
        args,
        options.input === undefined
          ? options
          : { ...options, input: options.input.replace('-m recent', '-m plt-none') },
      )
    const findings = (await probeIptables(run)).filter((finding) => finding.level === 'fail')
    assert.equal(findings.length, 1)
    assert.match(findings[0]?.what ?? '', /match recent does not work/)
    assert.equal(findings[0]?.remedy, 'modprobe xt_recent, or use a kernel that has it')
  }),
)

test(
  'without the privilege to try, that is said',
  { skip },
  inNetns(async (netns) => {
    const run: Run = (file, args, options) =>
      netns.run('setpriv', ['--reuid', '65534', '--clear-groups', '--bounding-set', '-all', file, ...args], options)
    const levels = (await probeIptables(run)).map((finding) => finding.level)
    assert.deepEqual(levels, ['ok', 'ok', 'warn'])
  }),
)
