import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../../src/demo/isolate.ts'
import { skipReason } from '../../../helpers/netns.ts'

const seenSchema = z.object({
  kills: z.object({
    restart: z.object({ commits: z.array(z.unknown()), isSame: z.boolean() }),
    wrong: z.array(z.string()),
    load: z.object({ answered: z.number(), failures: z.record(z.string(), z.number()) }),
  }),
  disturbed: z.object({ repaired: z.record(z.string(), z.number()), isUntouched: z.boolean(), state: z.string() }),
  many: z.object({
    moved: z.number(),
    shares: z.array(z.number()),
    reached: z.number(),
    elsewhere: z.number(),
  }),
  sctp: z.string(),
})

const patienceMs = 8_000

/** Tests an agent in the mode nftables as a process that is killed, with other programs that change its table. */
export function testNftablesNode({ rounds, clients }: { readonly rounds: number; readonly clients: number }): void {
  const skip = skipReason('nft', 'iptables', 'conntrack', 'perl', 'unshare', 'setpriv')
  describe('an agent in the mode nftables', { skip }, () => {
    let seen: z.infer<typeof seenSchema>

    before(async () => {
      const program = path.join(import.meta.dirname, 'nftables-node.program.ts')
      const signal = AbortSignal.timeout(120_000 + rounds * 15_000 + clients * 20)
      const args = [String(rounds), String(clients)]
      const { exitCode, stdout } = await runIsolated(program, args, { signal, stdout: 'pipe' })
      assert.equal(exitCode, 0, stdout)
      seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
    })

    test('that is killed and started again writes nothing', () => {
      assert.deepEqual(seen.kills.restart, { commits: [], isSame: true })
    })

    test('that is killed while it writes has everything right once it is ready again, and no connection notices', () => {
      assert.deepEqual(seen.kills.wrong, [])
      assert.deepEqual(seen.kills.load.failures, {})
      assert.ok(seen.kills.load.answered > 100, String(seen.kills.load.answered))
    })

    test('repairs exactly what other programs change, within seconds', () => {
      const late = Object.entries(seen.disturbed.repaired).filter(([, ms]) => ms < 0 || ms > patienceMs)
      assert.deepEqual(late, [])
      assert.ok(Object.keys(seen.disturbed.repaired).length > 10)
      assert.equal(seen.disturbed.state, 'version')
    })

    test('has nothing in the tables of iptables that a flush of those could take', () => {
      assert.ok(seen.disturbed.isUntouched)
    })

    test('keeps each of many clients at its endpoint, also after a restart', () => {
      const { moved, shares } = seen.many
      assert.equal(moved, 0)
      const deviation = Math.sqrt((clients * 2) / 9)
      for (const share of shares) assert.ok(Math.abs(share - clients / 3) < 6 * deviation, JSON.stringify(shares))
    })

    test('spreads connections over 1,000 endpoints', () => {
      // Of 3,000 draws among 1,000, 950 are drawn at least once, with a deviation of 6.
      assert.ok(seen.many.reached > 910, String(seen.many.reached))
      assert.equal(seen.many.elsewhere, 0)
    })

    test('sends SCTP to the endpoint', () => assert.equal(seen.sctp, '10.244.0.3:9000'))
  })
}
