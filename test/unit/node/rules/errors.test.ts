import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExecError } from '../../../../src/host/index.ts'
import { explainRestoreFailure, explainSaveFailure, RulesError } from '../../../../src/node/rules/errors.ts'

const input = '*nat\n:PLAT-A - [0:0]\n-A PLAT-A -j PLAT-NOWHERE\n-X PLAT-B\nCOMMIT\n*filter\n:PLAT-C - [0:0]\nCOMMIT\n'

function explain(stderr: string): RulesError {
  const details = { command: 'iptables-restore', exitCode: 1, stderr, cause: undefined }
  const error = explainRestoreFailure(new ExecError('failed', 'it failed', details), input)
  assert.ok(error instanceof RulesError)
  return error
}

// What iptables 1.8.9 says.
const cases: readonly (readonly [
  says: string,
  stderr: string,
  line: number,
  chain: string | undefined,
  table: string,
])[] = [
  [
    'nft at commit',
    'iptables-nft-restore v1.8.9 (nf_tables): \nline 3: RULE_APPEND failed (Invalid argument): rule in chain PLAT-A',
    3,
    'PLAT-A',
    'nat',
  ],
  [
    'nft removing',
    'iptables-nft-restore: \nline 4: CHAIN_DEL failed (Device or resource busy): chain PLAT-B',
    4,
    'PLAT-B',
    'nat',
  ],
  [
    'nft reading',
    'iptables-nft-restore v1.8.9 (nf_tables): unknown option "--bogus"\nError occurred at line: 3\nTry -h',
    3,
    'PLAT-A',
    'nat',
  ],
  [
    'nft on a jump to nowhere',
    "iptables-nft-restore v1.8.9 (nf_tables): Chain 'PLAT-NOWHERE' does not exist\nError occurred at line: 5",
    3,
    'PLAT-A',
    'nat',
  ],
  ['legacy at commit', 'iptables-restore: line 8 failed', 8, undefined, 'filter'],
]

for (const [says, stderr, line, chain, table] of cases) {
  test(`the line that ${says} complains of is found`, () => {
    const error = explain(stderr)
    assert.equal(error.code, 'restore-failed')
    assert.deepEqual([error.line?.number, error.line?.chain, error.line?.table], [line, chain, table])
    assert.match(error.message, new RegExp(`line ${line} of table ${table}`))
  })
}

test('a busy lock, a missing privilege and a killed program have codes of their own', () => {
  const lock = 'Another app is currently holding the xtables lock. Stopped waiting after 5s.'
  assert.equal(explain(lock).code, 'lock-busy')
  assert.equal(
    explain('Could not fetch rule set generation id: Permission denied (you must be root)').code,
    'permission',
  )
  const killed = new ExecError('killed', 'ended', { command: 'x', exitCode: undefined, stderr: '', cause: undefined })
  assert.equal((explainSaveFailure(killed) as RulesError).code, 'killed')
})

test('a complaint without a line is kept whole as the cause', () => {
  const error = explain('something new')
  assert.equal(error.line, undefined)
  assert.ok(error.cause instanceof ExecError)
})
