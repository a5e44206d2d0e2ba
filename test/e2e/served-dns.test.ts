import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

const got = z.object({ status: z.number(), body: z.string() })
const seenSchema = z.object({
  kubeDns: z.array(z.string()),
  asked: z.object({
    clusterIp: z.string(),
    overUdp: z.string(),
    overTcp: z.string(),
    srv: z.string(),
    ptr: z.string(),
    missing: z.string(),
    podName: z.string(),
    nodeAddressFromPod: z.string(),
    nodeAddressFromOutside: z.string(),
    curl: z.string(),
  }),
  fresh: z.array(z.string()),
  bad: z.object({ health: z.string(), stillServed: z.string() }),
  underReloads: z.object({ asked: z.number(), lost: z.number() }),
  endpoints: z.object({ health: got, ready: got, metrics: got }),
  scrapes: z.record(z.string(), z.number()),
  cli: z.object({ exitCode: z.number(), out: z.string() }),
  tablesBefore: z.string(),
  stopped: z.object({ tables: z.string(), addresses: z.string() }),
})

describe('a node that serves the cluster DNS', { skip: skipReason('iptables', 'nft', 'curl', 'ip', 'dig') }, () => {
  let seen: z.infer<typeof seenSchema>

  before(async () => {
    const program = path.join(import.meta.dirname, 'served-dns.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(180_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, stdout)
    seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
  })

  test('a pod gets the names of the cluster at 10.96.0.10, over UDP and TCP', () => {
    const { asked } = seen
    const address = `NOERROR | web.default.svc.cluster.local. 30 IN A ${asked.clusterIp}`
    assert.equal(asked.overUdp, address)
    assert.equal(asked.overTcp, address)
    assert.match(
      asked.srv,
      /^NOERROR \| web\.default\.svc\.cluster\.local\. 30 IN SRV 0 100 \d+ web\.default\.svc\.cluster\.local\.$/,
    )
    assert.match(asked.ptr, /^NOERROR \| \S+\.in-addr\.arpa\. 30 IN PTR web\.default\.svc\.cluster\.local\.$/)
    assert.equal(asked.missing, 'NXDOMAIN')
    assert.match(asked.podName, /IN A 10\.1\.2\.3$/)
    assert.match(asked.curl, /^web-1 /)
  })

  test("on the node's own address only the cluster is answered", () => {
    assert.match(seen.asked.nodeAddressFromPod, /^NOERROR/)
    assert.equal(seen.asked.nodeAddressFromOutside, 'REFUSED')
  })

  test('the Service kube-dns is made, and this node is an endpoint of it while it serves', () => {
    assert.deepEqual(seen.kubeDns, [
      '10.96.0.10 dns,dns-tcp,metrics 192.0.2.1 True',
      '10.96.0.10 dns,dns-tcp,metrics 192.0.2.1 False',
    ])
  })

  test('when the packet rules have a change, the answers have it', () => {
    for (const line of seen.fresh) {
      const [address, , ...answer] = line.split(' ')
      assert.ok(answer.join(' ').includes(address ?? '?'), line)
    }
  })

  test('the ConfigMap configures it at once; a bad one is named with its line and changes nothing; no question is lost', () => {
    assert.match(seen.bad.health, /kube-system\/coredns:3 .*Unknown directive 'nonsense'/)
    assert.match(seen.bad.stillServed, /^NOERROR/)
    assert.ok(seen.underReloads.asked > 10, `${seen.underReloads.asked} questions`)
    assert.equal(seen.underReloads.lost, 0)
  })

  test("health, readiness and metrics are on the DNS' addresses", () => {
    assert.deepEqual(seen.endpoints.health, { status: 200, body: 'OK' })
    assert.deepEqual(seen.endpoints.ready, { status: 200, body: 'OK' })
    assert.match(
      seen.endpoints.metrics.body,
      /coredns_dns_responses_total\{.*rcode="NOERROR",plugin="kubernetes"\} \d+/,
    )
  })

  test("on the node's address the agent's metrics are for users that the API server lets read them", () => {
    assert.deepEqual(seen.scrapes, { anonymous: 401, wrongToken: 401, node: 403, operator: 200 })
  })

  test('platnet dns query shows the answer and explains it', () => {
    assert.equal(seen.cli.exitCode, 0)
    assert.match(
      seen.cli.out,
      /IN A 10\.\d+\.\d+\.\d+\n;; plugin kubernetes, Service default\/web, changed \d+\.\d s ago\n/,
    )
  })

  test('it names the Service that a reverse answer leads to, too', () => {
    assert.match(
      seen.cli.out,
      /IN PTR web\.default\.svc\.cluster\.local\.?\n;; plugin kubernetes, Service default\/web, changed \d+\.\d s ago\n$/,
    )
  })

  test('a clean stop takes address and rules away', () => {
    assert.match(seen.tablesBefore, /inet platnet-dns/)
    assert.doesNotMatch(seen.stopped.tables, /platnet-dns/)
    assert.doesNotMatch(seen.stopped.addresses, /10\.96\.0\.10/)
  })
})
