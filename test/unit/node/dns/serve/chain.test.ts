import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { planServer } from '../../../../../src/node/dns/configuration/server-plan.ts'
import { readCorefile } from '../../../../../src/node/dns/corefile/read-corefile.ts'
import { DnsThreads } from '../../../../../src/node/dns/threads/dns-threads.ts'
import { readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { ClusterZone } from '../../../../../src/node/dns/zone/cluster-zone.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { askUdp } from '../../../../helpers/dns-server.ts'
import { findFreePort } from '../../../../helpers/platnet-server.ts'
import { createRecordingLogger } from '../../../../helpers/recording-logger.ts'
import { makeService } from '../../../../helpers/services.ts'

const { log, lines } = createRecordingLogger()
const threads = new DnsThreads({ servingThreads: 2, log })
let port = 0

before(async () => {
  port = await findFreePort()
  const text = `.:${port} {
  bind 127.0.0.1
  rewrite name web.example.org web.default.svc.cluster.local
  template IN A tpl.example {
    answer "{{ .Name }} 60 IN A 192.0.2.99"
  }
  hosts /etc/hosts-of-the-test example.net {
    192.0.2.50 inline.example.net
    fallthrough
  }
  kubernetes cluster.local
  log . "{type} {name} {rcode} {>rflags}" {
    class denial
  }
}
`
  const corefile = readCorefile({ path: 'Corefile', text }, { files: () => [], environment: () => undefined })
  const plan = planServer(corefile, {
    clusterDns: [],
    nodeAddress: undefined,
    linkAddresses: new Map(),
    nameservers: new Map(),
    hostsTexts: new Map([['/etc/hosts-of-the-test', '192.0.2.51 file.example.net\n']]),
    pemTexts: new Map(),
    clusterSources: [],
  })
  const [settings] = plan.zones
  assert.ok(settings)
  const zone = new ClusterZone(settings, () => {})
  zone.setService('default/web', { service: makeService('default/web', '10.96.4.2'), slices: [] })
  zone.markSynced()
  assert.deepEqual(await threads.configure(plan.threads, [zone.table]), [])
})
after(async () => {
  await threads.stop()
  assert.deepEqual(
    lines.filter((line) => line.includes('cluster.local')),
    ['info A no.default.svc.cluster.local. NXDOMAIN qr,aa,rd'],
    'log tells of the denial alone',
  )
})

for (const [name, rcode, ...addresses] of [
  ['web.default.svc.cluster.local', 0, '10.96.4.2'],
  ['web.example.org', 0, '10.96.4.2'],
  ['any.tpl.example', 0, '192.0.2.99'],
  ['inline.example.net', 0, '192.0.2.50'],
  ['file.example.net', 0, '192.0.2.51'],
  ['no.default.svc.cluster.local', 3],
  ['nobody.example.com', 2],
] as const) {
  test(`a Corefile with rewrite, template, hosts and kubernetes: ${name} is rcode ${rcode} ${addresses.join()}`, async () => {
    const answer = await askUdp(makeQuery(name, 1), port, 30_000)
    assert.ok(answer)
    const seen = readMessage(answer, answer.length)
    assert.equal(seen.rcode, rcode)
    assert.deepEqual(
      seen.answer.map(({ data }) => [...data].join('.')),
      addresses,
    )
  })
}
