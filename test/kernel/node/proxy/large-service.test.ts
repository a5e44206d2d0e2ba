import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { skipReason, withNetns } from '../../../helpers/netns.ts'
import { until } from '../../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../../helpers/wire-objects.ts'
import { startProxy } from './proxy-fixture.ts'

const ports = Array.from({ length: 40 }, (_, index) => ({ name: `p${index}`, port: 1000 + index, protocol: 'TCP' }))
const addresses = Array.from({ length: 200 }, (_, index) => `10.245.0.${index + 1}`)

for (const flavour of ['nft', 'legacy'] as const) {
  test(
    `a Service of 40 ports and 200 endpoints is written in turns, and another one's change goes between them (${flavour})`,
    { skip: skipReason(`iptables-${flavour}`), timeout: 120_000 },
    () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        let longest = 0
        const proxy = await startProxy(netns, {
          form: flavour,
          run: (file, args, options) => {
            longest = Math.max(longest, options.input?.toString().split('\n').length ?? 0)
            return netns.run(file, args, options)
          },
        })
        const { state, applied } = proxy
        const put = (name: string, version: string, body: object) =>
          state.upsert(
            'endpointslices',
            readObject('endpointslices', wireSlice(`${name}-1`, name, version, body), dialect),
          )
        const untilApplied = async (version: string) => {
          await applied.waitUntilApplied('endpointslices', version, { signal: AbortSignal.timeout(60_000) })
          return performance.now()
        }
        const putLarge = (version: string, ready: readonly string[]) =>
          put('large', version, {
            ports: ports.map(({ name, port }) => ({ name, port, protocol: 'TCP' })),
            endpoints: ready.map((address) => ({ addresses: [address] })),
          })
        try {
          const services = [
            wireService('small', '1', { clusterIP: '10.96.0.1' }),
            wireService('large', '1', { clusterIP: '10.96.0.2', ports }),
          ]
          state.replace(
            'services',
            services.map((service) => readObject('services', service, dialect)),
            '1',
          )
          state.replace('endpoints', [], '1')
          state.replace('endpointslices', [], '1')
          put('small', '2', { endpoints: [{ addresses: ['10.244.0.1'] }] })
          await untilApplied('2')
          const rounds = [addresses, addresses.slice(1), []]
          for (const [round, ready] of rounds.entries()) {
            const [large, small] = [String(100 + 10 * round), String(101 + 10 * round)]
            putLarge(large, ready)
            const ofLarge = untilApplied(large)
            await until('the large one is being written', () => proxy.plane.view.status().waiting === 1)
            put('small', small, { endpoints: [{ addresses: [`10.244.0.${round + 2}`] }] })
            const [largeMs, smallMs] = await Promise.all([ofLarge, untilApplied(small)])
            assert.ok(smallMs < largeMs, `round ${round}: the small one was ${Math.round(smallMs - largeMs)} ms later`)
          }
          const saved = await netns.exec(`iptables-${flavour}-save`, '-t', 'nat')
          assert.doesNotMatch(saved, /10\.245\.0\./)
          assert.match(saved, /10\.244\.0\.4:8080/)
          assert.deepEqual(await proxy.writer.preview(), [])
          assert.deepEqual(proxy.plane.view.status().setAside, [])
          // The most that one write has, and what stands around it; the whole Service has three lines for each endpoint of each port.
          assert.ok(longest > 1_000 && longest < 17_000, `one program was given ${longest} lines`)
        } finally {
          await proxy.stop()
        }
      }),
  )
}
