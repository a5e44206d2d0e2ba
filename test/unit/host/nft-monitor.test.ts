import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommitReader, type NftCommit } from '../../../src/host/nft-monitor.ts'

function read(text: string): (NftCommit | 'gap')[] {
  const received: (NftCommit | 'gap')[] = []
  const reader = new CommitReader({ onCommit: (commit) => received.push(commit), onGap: () => received.push('gap') })
  for (const line of text.split('\n')) reader.readLine(line)
  return received
}

test('the lines up to an end are one commit, and who made it where the kernel tells', () => {
  const text = `gap
chain ip nat PLAT-SVC-A
chain ip nat PLAT-SEP-B
end 16942 iptables-nft-re
table ip filter
end 0 ?
end 7 nft`
  assert.deepEqual(read(text), [
    'gap',
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

test('a commit in both families is reported once for each', () => {
  const text = `chain ip6 filter FORWARD
chain ip filter FORWARD
end 9 nft`
  const changes = [{ table: 'filter', chain: 'FORWARD' }]
  assert.deepEqual(read(text), [
    { family: 'IPv6', changes, pid: 9, program: 'nft' },
    { family: 'IPv4', changes, pid: 9, program: 'nft' },
  ])
})

test('events from before a loss are no part of the next commit', () => {
  const text = `chain ip nat PLAT-SVC-A
gap
chain ip nat PLAT-SVC-B
end 3 nft`
  assert.deepEqual(read(text), [
    'gap',
    { family: 'IPv4', changes: [{ table: 'nat', chain: 'PLAT-SVC-B' }], pid: 3, program: 'nft' },
  ])
})
