import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommitReader, type NftCommit } from '../../../src/host/nft-monitor.ts'

function read(text: string): NftCommit[] {
  const commits: NftCommit[] = []
  const reader = new CommitReader((commit) => commits.push(commit))
  for (const line of text.split('\n')) reader.readLine(line)
  return commits
}

test('the lines up to a new generation are one commit, with each chain once and who made it', () => {
  const text = `delete rule ip nat PLAT-SVC-A handle 4
add rule ip nat PLAT-SVC-A counter packets 0 bytes 0 jump PLAT-SEP-B
add chain ip nat PLAT-SEP-B
# new generation 70 by process 16942 (iptables-nft-re)
delete table ip filter
# new generation 71`
  assert.deepEqual(read(text), [
    {
      family: 'IPv4',
      changes: [
        { table: 'nat', chain: 'PLAT-SVC-A' },
        { table: 'nat', chain: 'PLAT-SEP-B' },
      ],
      pid: 16942,
      program: 'iptables-nft-re',
    },
    { family: 'IPv4', changes: [{ table: 'filter' }] },
  ])
})

test('a commit in both families is told once for each; other families and elements of sets are passed over', () => {
  const text = `add rule ip6 filter FORWARD accept
insert rule ip filter FORWARD accept
add table inet other
add element ip nat some-set { 10.0.0.1 }
# new generation 3 by process 9 (nft)
add table inet more
# new generation 4 by process 9 (nft)`
  const commits = read(text)
  assert.deepEqual(
    commits.map(({ family, changes }) => [family, changes]),
    [
      ['IPv6', [{ table: 'filter', chain: 'FORWARD' }]],
      ['IPv4', [{ table: 'filter', chain: 'FORWARD' }]],
    ],
  )
})
