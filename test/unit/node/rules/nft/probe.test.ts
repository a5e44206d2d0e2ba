import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExecError, type Run } from '../../../../../src/host/index.ts'
import { findNftProblem, probeNftables } from '../../../../../src/node/rules/index.ts'

/** Answers of programs by the beginning of their commands; others fail. */
function runOf(answers: Readonly<Record<string, string>>): Run {
  return (async (file: string, args: readonly string[]) => {
    const command = [file, ...args].join(' ')
    const found = Object.entries(answers).find(([start]) => command.startsWith(start))
    if (found !== undefined) return { endedBy: 'exit', exitCode: 0, stdout: found[1], stderr: '', durationMs: 1 }
    throw new ExecError('failed', `${command} failed`, { command, exitCode: 1, stderr: 'Error: no such thing\nmore' })
  }) as unknown as Run
}

const dropping = { 'iptables-nft --wait 5 -t filter -S': '-P INPUT DROP\n-P FORWARD DROP\n-P OUTPUT ACCEPT\n' }

test('a machine that cannot load the table is at fault only where the mode nftables is asked for', async () => {
  const levels = async (wish: 'iptables' | 'nftables' | 'auto') =>
    (await probeNftables(wish, runOf({}))).map(({ level }) => level)
  assert.deepEqual(
    [await levels('nftables'), await levels('auto'), await levels('iptables')],
    [['fail'], ['ok'], ['ok']],
  )
  assert.match((await probeNftables('nftables', runOf({})))[0]?.what ?? '', /no such thing$/)
})

test('what refuses the table is named by the versions of nft and of the kernel', async () => {
  const run = runOf({ 'nft --version': 'nftables v0.9.8 (E.D.S.)\n', 'uname -r': '5.10.0-46-cloud-amd64\n' })
  assert.equal(
    await findNftProblem(run, 'IPv4'),
    'the table cannot be loaded by nftables v0.9.8 (E.D.S.) on Linux 5.10.0-46-cloud-amd64: Error: no such thing',
  )
  assert.match((await probeNftables('nftables', run))[0]?.remedy ?? '', /nftables 1\.0\.6 on Linux 5\.10 and newer can/)
})

test('a kernel that lacks an expression is not taken for a machine without nft', async () => {
  const refusing = (stderr: string) =>
    (async (file: string) => {
      if (file !== 'unshare') return { endedBy: 'exit', exitCode: 0, stdout: '', stderr: '', durationMs: 1 }
      throw new ExecError('failed', 'unshare failed', { command: 'unshare', exitCode: 1, stderr })
    }) as unknown as Run
  const lacking = '/dev/stdin:30:3-45: Error: Could not process rule: No such file or directory'
  assert.match((await findNftProblem(refusing(lacking), 'IPv4')) ?? '', /cannot be loaded by nft .*: No such file/)
  assert.equal(
    await findNftProblem(refusing('unshare: failed to execute nft: No such file or directory'), 'IPv4'),
    'the program nft or unshare is missing',
  )
})

test('a policy DROP of INPUT is named where the mode nftables may be in use', async () => {
  const run = runOf({ 'unshare --net nft': '', ...dropping })
  const found = await probeNftables('auto', run)
  assert.deepEqual(
    found.map(({ level }) => level),
    ['ok', 'warn'],
  )
  assert.match(found[1]?.what ?? '', /^iptables-nft, table filter, chain INPUT: the policy is DROP/)
  assert.equal((await probeNftables('iptables', run)).length, 1)
})
