import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Iptables } from '../../../../src/node/rules/iptables.ts'

const listing = `-N PLAT-SVC-A -c 0 0
-A PLAT-SVC-A -s 10.0.0.0/8 -m comment --comment "default/web -c 9 9" -c 3 180 -j PLAT-MARK-MASQ
-A PLAT-SVC-A -m recent --rcheck --name PLAT-SEP-1 -c 2 120 -j PLAT-SEP-1
-A PLAT-SVC-A -m statistic --mode random --probability 0.5 -c 5 300 -j PLAT-SEP-1
-A PLAT-SVC-A -m comment --comment "default/web" -c 7 420 -j PLAT-SEP-2
`

type Run = ConstructorParameters<typeof Iptables>[1]

function iptables(run: Run) {
  return new Iptables({ family: 'IPv4', flavour: 'nft', program: 'iptables-nft', version: '1.8.9', reason: '' }, run)
}

test('Jumps of a chain are counted by target; several rules to one target add up.', async () => {
  const jumps = await iptables(async () => ({
    stdout: listing,
    stderr: '',
    exitCode: 0,
    endedBy: 'exit',
    durationMs: 1,
  })).readJumps('nat', 'PLAT-SVC-A')
  assert.deepEqual(
    [...jumps].map(([chain, { packets, bytes }]) => [chain, packets, bytes]),
    [
      ['PLAT-MARK-MASQ', 3, 180],
      ['PLAT-SEP-1', 7, 420],
      ['PLAT-SEP-2', 7, 420],
    ],
  )
})

test('A chain that does not exist has no jumps.', async () => {
  const jumps = await iptables(() => Promise.reject(new Error('No chain by that name'))).readJumps('nat', 'PLAT-SVC-B')
  assert.equal(jumps.size, 0)
})
