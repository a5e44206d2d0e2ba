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
end 16942 77 iptables-nft-re
table ip filter
end 0 4294963200 ?
end 7 7 nft`
  assert.deepEqual(read(text), [
    'gap',
    {
      family: 'IPv4',
      changes: [
        { table: 'nat', chain: 'PLAT-SVC-A' },
        { table: 'nat', chain: 'PLAT-SEP-B' },
      ],
      pid: 16942,
      portId: 77,
      program: 'iptables-nft-re',
    },
    { family: 'IPv4', changes: [{ table: 'filter' }], portId: 4_294_963_200 },
  ])
})

test('a commit in both families is reported once for each', () => {
  const text = `chain ip6 filter FORWARD
chain ip filter FORWARD
end 9 9 nft`
  const changes = [{ table: 'filter', chain: 'FORWARD' }]
  assert.deepEqual(read(text), [
    { family: 'IPv6', changes, pid: 9, portId: 9, program: 'nft' },
    { family: 'IPv4', changes, pid: 9, portId: 9, program: 'nft' },
  ])
})

test('events from before a loss are no part of the next commit', () => {
  const text = `chain ip nat PLAT-SVC-A
gap
chain ip nat PLAT-SVC-B
end 3 3 nft`
  assert.deepEqual(read(text), [
    'gap',
    { family: 'IPv4', changes: [{ table: 'nat', chain: 'PLAT-SVC-B' }], pid: 3, portId: 3, program: 'nft' },
  ])
})

test('sets and elements are named, and lines of another form are left out', () => {
  const text = `set ip platnet addresses
element ip6 platnet endpoints fd00
element ip platnet refuse
element arp platnet refuse 00
set ip
end 5 5 nft`
  const author = { pid: 5, portId: 5, program: 'nft' }
  assert.deepEqual(read(text), [
    { family: 'IPv4', changes: [{ table: 'platnet', set: 'addresses' }], ...author },
    { family: 'IPv6', changes: [{ table: 'platnet', set: 'endpoints', key: 'fd00' }], ...author },
  ])
})
