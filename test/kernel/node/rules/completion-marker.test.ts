import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFastRun, type Run } from '../../../../src/host/index.ts'
import { detectIptables, Iptables } from '../../../../src/node/rules/index.ts'
import { skipReason, withNetns } from '../../../helpers/netns.ts'

const skip = skipReason('iptables-nft')

test(
  'a restore that answers before its program has ended is in the kernel; one that fails at its last commit is a failure',
  { skip, timeout: 120_000 },
  () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      const run = createFastRun()
      const inside: Run = (file, args, options) => run(file, args, { netns: netns.name, ...options })
      const iptables = new Iptables(await detectIptables(netns.run, 'IPv4', 'nft'), inside)
      const textOf = (comment: string, target = 'ACCEPT') =>
        `*filter\n:PLAT-A - [0:0]\nCOMMIT\n*nat\n:PLAT-B - [0:0]\n-A PLAT-B -m comment --comment ${comment} -j ${target}\nCOMMIT\n`
      for (let count = 0; count < 10; count++) {
        await iptables.restore(textOf(`n${count}`))
        assert.match((await iptables.listChain('nat', 'PLAT-B')) ?? '', new RegExp(`--comment n${count} `))
      }
      await assert.rejects(iptables.restore(textOf('bad', 'PLAT-NONE')), { code: 'restore-failed' })
      assert.match((await iptables.listChain('nat', 'PLAT-B')) ?? '', /--comment n9 /)
    }),
)
