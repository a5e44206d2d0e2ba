import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run } from '../../../../src/host/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { skipReason, withNetns } from '../../../helpers/netns.ts'
import { until, untilAsync } from '../../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../../helpers/wire-objects.ts'
import { startProxy } from './proxy-fixture.ts'

type Proxy = Awaited<ReturnType<typeof startProxy>>

function list({ state }: Proxy): void {
  const slice = wireSlice('web-1', 'web', '2', { endpoints: [{ addresses: ['10.244.0.1'] }] })
  state.replace('services', [readObject('services', wireService('web', '1'), dialect)], '1')
  state.replace('endpoints', [], '1')
  state.replace('endpointslices', [readObject('endpointslices', slice, dialect)], '2')
}

function untilApplied({ applied }: Proxy): Promise<void> {
  return until('it is applied', () => applied.report().planes['proxy'] === 1, 30_000)
}

for (const flavour of ['nft', 'legacy'] as const) {
  const title = `a restart is ready by PLAT-STATE, and repairs afterwards what was changed meanwhile (${flavour})`
  test(title, { skip: skipReason(`iptables-${flavour}`), timeout: 120_000 }, () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      const saved = (table: string) => netns.exec(`iptables-${flavour}-save`, '-t', table)
      const first = await startProxy(netns, { form: flavour })
      list(first)
      await untilApplied(first)
      await first.stop()
      const nat = await saved('nat')
      const chain = /PLAT-SVC-\S+/.exec(nat)?.[0] ?? ''
      await netns.exec(`iptables-${flavour}`, '-t', 'nat', '-F', chain)
      assert.equal((await saved('nat')).includes(`-A ${chain} `), false)

      const restores: string[] = []
      const run: Run = (file, args, options) => {
        if (file.endsWith('-restore')) restores.push(options.input ?? '')
        return netns.run(file, args, options)
      }
      const second = await startProxy(netns, { form: flavour, run })
      try {
        await second.writer.start({ signal: AbortSignal.timeout(10_000) })
        const isReady = second.applied.waitUntilApplied('services', '1', { signal: AbortSignal.timeout(30_000) })
        list(second)
        await isReady
        assert.deepEqual([second.plane.view.isPlanning, second.writer.health().level, restores], [true, 'ok', []])
        await untilAsync('it is repaired', async () => (await saved('nat')).includes(`-A ${chain} `), 30_000)
        assert.deepEqual([second.plane.view.isPlanning, restores.length], [false, 1])
      } finally {
        await second.stop()
      }
    }),
  )
}
