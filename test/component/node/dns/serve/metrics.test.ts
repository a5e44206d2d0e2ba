import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderSeries } from '../../../../../src/node/dns/metrics/series.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { TestDnsServer } from '../../../../helpers/dns-server.ts'
import { FakeUpstream } from '../../../../helpers/fake-upstream.ts'
import { makeService } from '../../../../helpers/services.ts'
import { answerBytes } from '../../../../helpers/upstream-messages.ts'

test("what the threads count is added up under CoreDNS' names and labels", async () => {
  const upstream = await new FakeUpstream(({ bytes }) => [answerBytes(bytes, { addresses: ['192.0.2.7'] })]).start()
  const server = await new TestDnsServer({ resolver: { targets: [upstream.target] } }).start([
    { service: makeService('default/web', '10.96.4.2'), slices: [] },
  ])
  try {
    for (let count = 0; count < 40; count += 1) await server.ask(makeQuery('web.default.svc.cluster.local.', 1))
    for (let count = 0; count < 3; count += 1) await server.ask(makeQuery('www.example.com.', 28))
    await server.askOverTcp([makeQuery('no.default.svc.cluster.local.', 1)])
    const text = renderSeries(await server.threads.series(), [
      { name: 'coredns_dns_requests_total', help: 'Questions.' },
    ])
    for (const line of [
      '# HELP coredns_dns_requests_total Questions.',
      '# TYPE coredns_dns_requests_total counter',
      'coredns_dns_requests_total{server="dns://:53",zone=".",view="",proto="udp",family="1",type="A"} 40',
      'coredns_dns_requests_total{server="dns://:53",zone=".",view="",proto="udp",family="1",type="AAAA"} 3',
      'coredns_dns_responses_total{server="dns://:53",zone=".",view="",rcode="NOERROR",plugin="kubernetes"} 40',
      'coredns_dns_responses_total{server="dns://:53",zone=".",view="",rcode="NXDOMAIN",plugin="kubernetes"} 1',
      'coredns_dns_request_duration_seconds_count{server="dns://:53",zone=".",view=""} 44',
      'coredns_dns_response_size_bytes_count{server="dns://:53",zone=".",view="",proto="tcp"} 1',
      'coredns_cache_misses_total{server="dns://:53",zones=".",view=""} 3',
      'coredns_forward_max_concurrent_rejects_total 0',
    ])
      assert.ok(text.includes(`${line}\n`), `${line}\nin\n${text}`)
  } finally {
    await server.stop()
    await upstream.stop()
  }
})
