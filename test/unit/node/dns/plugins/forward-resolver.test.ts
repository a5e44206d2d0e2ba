import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ForwardList } from '../../../../../src/node/dns/plugins/forward/forward-list.ts'
import { ForwardResolverHandler } from '../../../../../src/node/dns/plugins/forward/resolver-handler.ts'
import type { Resolution } from '../../../../../src/node/dns/plugins/resolver-handler.ts'
import { ipOf } from '../../../../helpers/addresses.ts'
import { resolverSettings } from '../../../../helpers/block-resolvers.ts'
import { queryOf } from '../../../../helpers/upstream-messages.ts'

test('a question that cannot be asked fails at once, and so does the next one, which does not wait for the first', () => {
  const targets = [{ address: ipOf('127.0.0.1'), port: 53 }]
  const none = () => {}
  const broken = () => {
    throw new Error('no span')
  }
  const events = { onReply: none, onProbeFailure: none, onConnection: none, onChange: none, onBroken: none }
  const forwards = new ForwardList(resolverSettings({ targets }).forwards, { ...events, startSpan: broken })
  const failures: unknown[] = []
  const onFailure = (_: unknown, error: unknown) => void failures.push(error)
  const handler = new ForwardResolverHandler(forwards, { onRejected: none, onFailure })
  const resolutions: Resolution[] = []
  const done = (resolution: Resolution) => void resolutions.push(resolution)
  for (let count = 0; count < 2; count += 1) {
    const question = { query: queryOf('www.example.com.'), overTcp: false, client: '192.0.2.1', done }
    assert.equal(
      handler.resolve(question, () => undefined),
      undefined,
    )
  }
  assert.deepEqual(
    resolutions.map((resolution) => resolution.kind === 'code' && resolution.because),
    ['failed', 'failed'],
  )
  assert.match(String(failures[1]), /no span/)
  handler.close()
})
