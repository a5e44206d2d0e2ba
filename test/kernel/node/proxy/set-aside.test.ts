import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run } from '../../../../src/host/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { skipReason, withNetns } from '../../../helpers/netns.ts'
import { until, untilAsync } from '../../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../../helpers/wire-objects.ts'
import { type ProxyForm, startProxy } from './proxy-fixture.ts'

const skip = skipReason('iptables-nft', 'iptables-legacy', 'nft')
/** What stands for an endpoint, what takes its place, and commands that show and damage what is written. */
const forms: readonly {
  readonly form: ProxyForm
  readonly poison: readonly [RegExp, string]
  readonly list: readonly [string, ...string[]]
  readonly damage: readonly [string, ...string[]]
}[] = [
  {
    form: 'nft',
    poison: [/DNAT --to-destination 10\.244\.0\.66:8080/g, 'PLT-NO-SUCH'],
    list: ['iptables-nft-save', '-t', 'nat'],
    damage: ['iptables-nft', '-t', 'nat', '-F', 'PLAT-SERVICES'],
  },
  {
    form: 'legacy',
    poison: [/DNAT --to-destination 10\.244\.0\.66:8080/g, 'PLT-NO-SUCH'],
    list: ['iptables-legacy-save', '-t', 'nat'],
    damage: ['iptables-legacy', '-t', 'nat', '-F', 'PLAT-SERVICES'],
  },
  {
    form: 'nftables',
    poison: [/10\.244\.0\.66 \. 8080/g, '10.244.0.66 . 88080'],
    list: ['nft', 'list', 'table', 'ip', 'platnet'],
    damage: ['nft', 'flush', 'chain', 'ip', 'platnet', 'service'],
  },
]

for (const { form, poison, list, damage } of forms) {
  test(
    `a Service whose rules the kernel refuses is set aside, and all others are served (${form})`,
    {
      skip,
      timeout: 120_000,
    },
    () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        // The programs take this text for a rule, and the kernel has no such target.
        const run: Run = (file, args, options) =>
          netns.run(file, args, {
            ...options,
            input: options.input?.replaceAll(poison[0], poison[1]) ?? '',
          })
        const proxy = await startProxy(netns, { form, run })
        const { state, applied, plane } = proxy
        const put = (name: string, version: string, address: string) => {
          const slice = wireSlice(`${name}-1`, name, version, { endpoints: [{ addresses: [address] }] })
          state.upsert('endpointslices', readObject('endpointslices', slice, dialect))
        }
        const saved = () => netns.exec(...list)
        try {
          const services = ['a', 'b', 'c'].map((name, index) =>
            wireService(name, '1', { clusterIP: `10.96.0.${index + 1}` }),
          )
          state.replace(
            'services',
            services.map((service) => readObject('services', service, dialect)),
            '1',
          )
          state.replace('endpoints', [], '1')
          state.replace('endpointslices', [], '1')
          put('a', '2', '10.244.0.1')
          put('b', '3', '10.244.0.66')
          put('c', '4', '10.244.0.3')
          await until('all that can be is applied', () => applied.report().planes['proxy'] === state.revision, 30_000)
          assert.deepEqual(
            plane.view.status().setAside.map(({ service }) => service),
            ['default/b'],
          )
          const rules = await saved()
          assert.match(rules, /10\.244\.0\.1(:| \. )8080/)
          assert.match(rules, /10\.244\.0\.3(:| \. )8080/)
          assert.doesNotMatch(rules, /PLT-NO-SUCH|default\/b:http cluster IP|10\.96\.0\.2 /)
          await until('it was tried again', () => (plane.view.status().setAside[0]?.attempts ?? 0) > 1, 30_000)
          await netns.exec(...damage)
          // Fails only while it is being tried.
          const isRepaired = () =>
            proxy.writer.verify().then(
              async () => (await proxy.writer.preview()).length === 0,
              () => false,
            )
          await untilAsync('what others change is put right meanwhile', isRepaired, 30_000)
          put('b', '5', '10.244.0.2')
          await until('the repaired one is written', () => plane.view.status().setAside.length === 0, 30_000)
          assert.match(await saved(), /10\.244\.0\.2(:| \. )8080/)
        } finally {
          await proxy.stop()
        }
      }),
  )
}
