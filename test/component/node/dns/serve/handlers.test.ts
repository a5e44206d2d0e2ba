import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { readCorefile } from '../../../../../src/node/dns/configuration/read-corefile.ts'
import { planServer } from '../../../../../src/node/dns/configuration/server-plan.ts'
import { DnsThreads } from '../../../../../src/node/dns/threads/dns-threads.ts'
import { recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { ClusterZone } from '../../../../../src/node/dns/zone/cluster-zone.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { askUdp } from '../../../../helpers/dns-server.ts'
import { recordText } from '../../../../helpers/dns-zone.ts'
import { findFreePort } from '../../../../helpers/free-port.ts'
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
  template IN A alias.example {
    answer "{{ .Name }} 60 IN CNAME file.example.net"
    answer "{{ .Name }} 60 IN CNAME any.alias.example"
    ederror 3 "made up"
  }
  template IN A broken.example {
    answer "{{ index .Match 3 }}"
  }
  hosts /etc/hosts-of-the-test example.net {
    192.0.2.50 inline.example.net
    fallthrough
  }
  kubernetes cluster.local
  log default.svc.cluster.local "{type} {name} {rcode} {>rflags} {/other/label} {local} {proto}" {
    class denial
  }
  log cluster.local "{name}" {
    class error
  }
  log . "second {name}"

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
    [
      'info A no.default.svc.cluster.local. NXDOMAIN qr,aa,rd - 127.0.0.1 udp',
      'info AAAA web.default.svc.cluster.local. NOERROR qr,aa,rd - 127.0.0.1 udp',
    ],
    'log tells of the denials alone, by the first rule for the name',
  )
})

for (const [name, rcode, ...addresses] of [
  ['web.default.svc.cluster.local', 0, '10.96.4.2'],
  ['web.example.org', 0, '10.96.4.2'],
  ['any.tpl.example', 0, '192.0.2.99'],
  ['inline.example.net', 0, '192.0.2.50'],
  ['file.example.net', 0, '192.0.2.51'],
  ['no.default.svc.cluster.local', 3],
  ['absent.example.com', 2],
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

test('a name without records of a type is a denial for the log', async () => {
  const answer = await askUdp(makeQuery('WEB.default.svc.cluster.local', recordType.AAAA), port, 30_000)
  assert.ok(answer)
  assert.equal(readMessage(answer, answer.length).answer.length, 0)
})

test('the addresses of the target follow an alias that a template makes, and its extended error comes along', async () => {
  const answer = await askUdp(makeQuery('a.alias.example', recordType.A, { edns: {} }), port, 30_000)
  assert.ok(answer)
  const { answer: records, edns } = readMessage(answer, answer.length)
  assert.deepEqual(records.slice(0, 3).map(recordText), [
    'a.alias.example. 60 CNAME file.example.net.',
    'file.example.net. 3600 A 192.0.2.51',
    'a.alias.example. 60 CNAME any.alias.example.',
  ])
  assert.ok(records.length < 40, 'an alias of itself ends')
  assert.equal(edns?.options.toString('latin1', 6), 'made up')
})

test('matches and failures of templates are counted', async () => {
  await askUdp(makeQuery('a.broken.example', recordType.A), port, 30_000)
  const series = await threads.series()
  const templates = series.flatMap(({ name, labels }) =>
    name.startsWith('coredns_template_') ? [{ name, labels }] : [],
  )
  const block = { server: `dns://127.0.0.1:${port}`, view: '', class: 'IN', type: 'A' }
  const broken = { ...block, zone: 'broken.example.' }
  const failed = { ...broken, section: 'answer', template: '{{ index .Match 3 }}' }
  for (const [name, labels] of [
    ['coredns_template_matches_total', broken],
    ['coredns_template_template_failures_total', failed],
  ] as const)
    assert.ok(
      templates.some((one) => one.name === name && isDeepStrictEqual(one.labels, labels)),
      name,
    )
})
