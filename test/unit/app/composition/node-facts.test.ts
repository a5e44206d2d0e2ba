import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeFactsWatch } from '../../../../src/app/composition/node-facts.ts'
import type { NodeFacts } from '../../../../src/node/proxy/index.ts'
import { ip } from '../../../helpers/services.ts'
import { until } from '../../../helpers/until.ts'

test('changes on this node while the agent runs are reported: its addresses, and how conntrack judges TCP', async (t) => {
  let isLiberal = true
  const addresses = new Set([ip('192.0.2.1')])
  const keeper = new NodeFactsWatch({
    nodeName: 'n1',
    isConntrackLiberal: async () => isLiberal,
    isNetworkOurs: async () => isLiberal,
    localAddresses: () => new Set(addresses),
    refreshMs: 5,
  })
  const received: NodeFacts[] = []
  const last = () => received.at(-1)
  keeper.follow((situation) => received.push(situation))
  await keeper.start()
  t.after(() => keeper.stop({ signal: AbortSignal.timeout(10_000) }))
  assert.equal(last(), undefined, 'nothing is reported before the API has described this node')
  keeper.tell(undefined)
  assert.deepEqual([last()?.isConntrackLiberal, last()?.isNetworkOurs], [true, true])
  isLiberal = false
  addresses.add(ip('192.0.2.2'))
  await until(
    'all is reported',
    () => last()?.isNetworkOurs === false && last()?.isConntrackLiberal === false && last()?.localAddresses.size === 2,
    30_000,
  )
})
