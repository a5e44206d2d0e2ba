import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run } from '../../../../src/host/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { skipReason, withNetns } from '../../../helpers/netns.ts'
import { until } from '../../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../../helpers/wire-objects.ts'
import { startProxy } from './proxy-fixture.ts'

const names = ['a', 'b', 'c'] as const
const oneHourMs = 3_600_000

for (const flavour of ['nft', 'legacy'] as const) {
  const title = `what comes waits for the next write; what goes does not, and takes along what waits (${flavour})`
  test(title, { skip: skipReason(`iptables-${flavour}`), timeout: 120_000 }, () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      const writes: string[] = []
      const run: Run = (file, args, options) => {
        if (file.endsWith('-restore')) writes.push(options.input ?? '')
        return netns.run(file, args, options)
      }
      // The test is over long before: what is written in it has not waited.
      const proxy = await startProxy(netns, { form: flavour, run, minGapMs: () => oneHourMs })
      const { state, applied } = proxy
      const sliceOf = (name: string, version: string, endpoints: readonly object[]) =>
        readObject('endpointslices', wireSlice(`${name}-1`, name, version, { endpoints }), dialect)
      const saved = () => netns.exec(`iptables-${flavour}-save`, '-t', 'nat')
      const isApplied = () => applied.report().planes['proxy'] === state.revision
      try {
        const services = names.map((name, n) => wireService(name, '1', { clusterIP: `10.96.0.${n + 1}` }))
        const slices = names.map((name, n) => sliceOf(name, '2', [{ addresses: [`10.244.0.${n + 1}`] }]))
        state.replace(
          'services',
          services.map((each) => readObject('services', each, dialect)),
          '1',
        )
        state.replace('endpoints', [], '1')
        state.replace('endpointslices', slices, '2')
        await until('the first rules are applied', isApplied, 30_000)
        const before = writes.length
        for (const [n, name] of (['a', 'b'] as const).entries()) {
          const endpoints = [{ addresses: [`10.244.0.${n + 1}`] }, { addresses: [`10.244.1.${n + 1}`] }]
          state.upsert('endpointslices', sliceOf(name, '3', endpoints))
        }
        assert.doesNotMatch(await saved(), /10\.244\.1\./)
        assert.equal(writes.length, before)
        state.upsert('endpointslices', sliceOf('c', '4', [{ addresses: ['10.244.0.3'], conditions: { ready: false } }]))
        await until('all of it is applied', isApplied, 30_000)
        assert.equal(writes.length, before + 1)
        const rules = await saved()
        assert.match(rules, /10\.244\.1\.1:8080/)
        assert.match(rules, /10\.244\.1\.2:8080/)
        assert.doesNotMatch(rules, /10\.244\.0\.3:8080/)
      } finally {
        await proxy.stop()
      }
    }),
  )
}
