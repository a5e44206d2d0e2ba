import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExecError, type Run } from '../../../../src/host/index.ts'
import { probePolicyRules } from '../../../../src/node/rules/index.ts'
import { skipReason, type TestNetns, withNetns } from '../../../helpers/netns.ts'

const skip = skipReason('iptables-nft', 'ip6tables-nft', 'ipset', 'unshare')

function inNetns(body: (netns: TestNetns) => Promise<void>): () => Promise<void> {
  return () => withNetns(async (lab) => body(await lab.create()))
}

/** Gives the programs other text in place of `from`, as if the kernel did not know it. */
function without(netns: TestNetns, from: string): Run {
  return (file, args, options) =>
    netns.run(
      file,
      args.map((arg) => arg.replaceAll(from, 'plt-none')),
      options,
    )
}

test(
  'a node that can enforce policies is found well in both families, and nothing is changed by looking',
  { skip },
  inNetns(async (netns) => {
    const findings = await probePolicyRules(netns.run)
    assert.deepEqual(
      findings.map(({ level }) => level),
      ['ok', 'ok', 'ok'],
      JSON.stringify(findings),
    )
    assert.match(findings[0]?.what ?? '', /^ipset \d/)
    assert.equal(await netns.exec('nft', 'list', 'tables'), '')
    assert.equal(await netns.exec('ipset', 'list', '-name'), '')
  }),
)

for (const [missing, name, module] of [
  ['-m multiport', 'match multiport', 'xt_multiport'],
  ['hash:ip,port,ip', 'ipset type hash:ip,port,ip with timeouts', 'ip_set_hash_ipportip'],
  ['*mangle', 'table mangle', 'ip(6?)table_mangle'],
] as const) {
  test(
    `without ${missing} the check says which part is missing in both families, and what to do`,
    { skip },
    inNetns(async (netns) => {
      const failures = (await probePolicyRules(without(netns, missing))).filter(({ level }) => level === 'fail')
      assert.ok(failures.length >= 2)
      for (const family of ['IPv4', 'IPv6']) {
        const found = failures.find(({ what }) =>
          what.startsWith(`${name} does not work for ${family}, so NetworkPolicy cannot be enforced`),
        )
        assert.match(found?.remedy ?? '', new RegExp(`^modprobe ${module}, or`))
      }
    }),
  )
}

test(
  'without the program ipset the check names the package',
  { skip },
  inNetns(async (netns) => {
    const run: Run = (file, args, options) => {
      if (file === 'ipset')
        throw new ExecError('not-found', 'no such program', { command: file, exitCode: undefined, stderr: '' })
      return netns.run(file, args, options)
    }
    const findings = await probePolicyRules(async (...call) => run(...call))
    assert.deepEqual(
      findings.map(({ level, remedy }) => [level, remedy]),
      [['fail', 'apt-get install ipset']],
    )
  }),
)

test(
  'without the privilege to try, the check says that',
  { skip },
  inNetns(async (netns) => {
    const run: Run = (file, args, options) =>
      netns.run('setpriv', ['--reuid', '65534', '--clear-groups', '--bounding-set', '-all', file, ...args], options)
    assert.deepEqual(
      (await probePolicyRules(run)).map(({ level }) => level),
      ['ok', 'warn', 'warn'],
    )
  }),
)
