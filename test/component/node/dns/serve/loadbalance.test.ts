import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readCorefile } from '../../../../../src/node/dns/configuration/read-corefile.ts'
import { planServer } from '../../../../../src/node/dns/configuration/server-plan.ts'
import { DnsThreads } from '../../../../../src/node/dns/threads/dns-threads.ts'
import { readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { ClusterZone } from '../../../../../src/node/dns/zone/cluster-zone.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { askUdp } from '../../../../helpers/dns-server.ts'
import { findFreePort } from '../../../../helpers/free-port.ts'
import { createRecordingLogger } from '../../../../helpers/recording-logger.ts'
import { makeService, makeSlice } from '../../../../helpers/services.ts'

const hosts = ['1', '2', '3', '4'].map((host) => `10.${host}.0.1 many.example.net`).join('\n')

/** The first address of 64 answers about a name of `hosts` and about one of the cluster. */
async function firstAddresses(t: TestContext, loadbalance: string) {
  const port = await findFreePort()
  const text = `.:${port} {
  bind 127.0.0.1
  ${loadbalance}
  hosts /hosts example.net
  kubernetes cluster.local
}
`
  const corefile = readCorefile({ path: 'Corefile', text }, { files: () => [], environment: () => undefined })
  const plan = planServer(corefile, {
    clusterDns: [],
    nodeAddress: undefined,
    linkAddresses: new Map(),
    nameservers: new Map(),
    hostsTexts: new Map([
      ['/hosts', hosts],
      ['/weights', 'many.example.net\n10.1.0.1 1\n10.2.0.1 1\n10.3.0.1 1\n10.4.0.1 255\n'],
    ]),
    pemTexts: new Map(),
    clusterSources: [],
  })
  const [settings] = plan.zones
  assert.ok(settings)
  const zone = new ClusterZone(settings, () => {})
  const service = makeService('default/many', '10.96.0.1', { headless: true, clusterIps: [] })
  const slice = makeSlice('default/many', [], ['10.1.0.1', '10.2.0.1', '10.3.0.1', '10.4.0.1'])
  zone.setService('default/many', { service, slices: [slice] })
  zone.markSynced()
  const threads = new DnsThreads({ servingThreads: 1, log: createRecordingLogger().log })
  t.after(() => threads.stop())
  assert.deepEqual(await threads.configure(plan.threads, [zone.table]), [])
  const ask = async (name: string) => {
    const answer = await askUdp(makeQuery(name, 1), port, 30_000)
    assert.ok(answer)
    const { answer: records } = readMessage(answer, answer.length)
    assert.equal(new Set(records.map(({ data }) => data.join('.'))).size, 4)
    return records[0]?.data.join('.') ?? ''
  }
  const firsts = { hosts: [] as string[], cluster: [] as string[] }
  for (let round = 0; round < 64; round++) {
    firsts.hosts.push(await ask('many.example.net'))
    firsts.cluster.push(await ask('many.default.svc.cluster.local'))
  }
  return firsts
}

test('without loadbalance addresses keep their order', async (t) => {
  const { hosts: own, cluster } = await firstAddresses(t, '')
  assert.deepEqual([new Set(own), new Set(cluster)], [new Set(['10.1.0.1']), new Set(['10.1.0.1'])])
})

test('loadbalance rotates the addresses of every plugin', async (t) => {
  const { hosts: own, cluster } = await firstAddresses(t, 'loadbalance')
  assert.ok(new Set(own).size > 1)
  assert.ok(new Set(cluster).size > 1)
})

test('prefer puts its networks first', async (t) => {
  const { hosts: own, cluster } = await firstAddresses(t, 'loadbalance round_robin {\n prefer 10.3.0.0/16\n }')
  assert.deepEqual([new Set(own), new Set(cluster)], [new Set(['10.3.0.1']), new Set(['10.3.0.1'])])
})

test('weighted draws the first address by its weight', async (t) => {
  const { hosts: own } = await firstAddresses(t, 'loadbalance weighted /weights')
  assert.ok(own.filter((address) => address === '10.4.0.1').length > 32)
})
