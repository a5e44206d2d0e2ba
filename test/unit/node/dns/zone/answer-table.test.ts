import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { joinAlias } from '../../../../../src/node/dns/plugins/kubernetes/external-name.ts'
import { makeTargetQuery } from '../../../../../src/node/dns/plugins/resolve-target.ts'
import { ednsOption, flag, rcode, recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { encodeName, nameText } from '../../../../../src/node/dns/wire/name.ts'
import { writeReply } from '../../../../../src/node/dns/wire/response.ts'
import { makeOption, makeQuery, parsedQuery } from '../../../../helpers/dns-messages.ts'
import { exampleServices, messageLine, recordText, TestZone, view } from '../../../../helpers/dns-zone.ts'
import { ip, makeEndpoint, makePort, makeService, makeSlice } from '../../../../helpers/services.ts'

const web = 'web.default.svc.cluster.local'

describe('the table of answers', () => {
  test('echoes ID, RD, CD, and what EDNS asks for', () => {
    const zone = new TestZone().add(...exampleServices()).synced()
    const options = makeOption(ednsOption.COOKIE, Buffer.from('12345678'))
    const asked = { id: 4711, flags: 0x0110, edns: { udpSize: 1400, dnssecOk: true, options } }
    for (const name of [web, 'gone.default.svc.cluster.local', '10-1-2-3.default.pod.cluster.local', 'cluster.local']) {
      const { id, flags, edns } = zone.ask(name, recordType.A, asked)
      assert.equal(id, 4711)
      assert.equal(flags & ~0xf, flag.QR | flag.AA | flag.RD | flag.CD)
      assert.deepEqual(edns, { udpSize: 1400, dnssecOk: true, options })
    }
  })

  test('answers missing names with SERVFAIL until everything was listed, and answers the names it has', () => {
    const zone = new TestZone().add(...exampleServices())
    assert.equal(zone.ask('gone.default.svc.cluster.local', recordType.A).rcode, rcode.SERVFAIL)
    assert.equal(zone.ask('1.0.0.10.in-addr.arpa', recordType.PTR).rcode, rcode.SERVFAIL)
    assert.equal(zone.ask(web, recordType.A).rcode, rcode.NOERROR)
    zone.synced()
    assert.equal(zone.ask('gone.default.svc.cluster.local', recordType.A).rcode, rcode.NXDOMAIN)
    assert.equal(zone.line('1.0.0.10.in-addr.arpa', recordType.PTR), 'not ours')
  })

  test('carries the serial of the last change', () => {
    const zone = new TestZone().synced()
    zone.zone.setSerial(1_800_000_000)
    const { data } = zone.ask('cluster.local', recordType.SOA).answer[0] ?? { data: Buffer.alloc(20) }
    assert.equal(data.readUInt32BE(data.length - 20), 1_800_000_000)
  })

  test('refuses to transfer a zone', () => {
    const zone = new TestZone().synced()
    assert.equal(zone.ask('cluster.local', recordType.AXFR).rcode, rcode.REFUSED)
    assert.equal(zone.line('example.org', recordType.AXFR), 'not ours')
  })

  test('moves to larger memory as it grows, and keeps every answer', () => {
    const zone = new TestZone().synced()
    for (let index = 0; index < 9000; index++) {
      const key = `default/s${index}`
      zone.add(view(makeService(key, `10.97.${index >> 8}.${index & 255}`)))
    }
    assert.ok(zone.moves > 0)
    for (let index = 0; index < 9000; index += 2) zone.zone.setService(`default/s${index}`, undefined)
    for (let index = 0; index < 9000; index++) {
      const { rcode: code } = zone.ask(`s${index}.default.svc.cluster.local`, recordType.A)
      assert.equal(code, index % 2 === 0 ? rcode.NXDOMAIN : rcode.NOERROR)
    }
  })

  test('stays as small as its live entries, however often it changes', () => {
    const zone = new TestZone().synced()
    const first = zone.zone.table.memory.byteLength
    for (let round = 0; zone.moves < 3 && round < 100_000; round++) {
      zone.add(view(makeService('default/s', `10.97.0.${round % 250}`)))
    }
    assert.equal(zone.moves, 3)
    assert.equal(zone.zone.table.memory.byteLength, first)
  })

  test('writes nothing for an unchanged Service', () => {
    const zone = new TestZone().add(...exampleServices())
    const before = Buffer.from(zone.zone.table.memory).toString('hex')
    zone.add(...exampleServices())
    assert.equal(Buffer.from(zone.zone.table.memory).toString('hex'), before)
  })

  test('a reader on another thread sees a change without a message', () => {
    const zone = new TestZone().add(...exampleServices()).synced()
    const table = zone.table
    zone.add(view(makeService('default/late', '10.96.0.99')))
    assert.equal(zone.table, table)
    assert.match(zone.line('late.default.svc.cluster.local', recordType.A), /10\.96\.0\.99/)
  })

  test('rotates addresses where it should, and keeps their order elsewhere', () => {
    const many = view(
      makeService('default/many', '10.96.0.1', { headless: true, clusterIps: [] }),
      makeSlice('default/many', [], ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4']),
    )
    const firsts = (rotate: boolean) => {
      const zone = new TestZone({}, rotate).add(many).synced()
      const answers = Array.from({ length: 100 }, () => zone.ask('many.default.svc.cluster.local', recordType.A).answer)
      for (const answer of answers) assert.equal(new Set(answer.map(recordText)).size, 4)
      return new Set(answers.map(([first]) => recordText(first as never))).size
    }
    assert.equal(firsts(false), 1)
    assert.equal(firsts(true), 4)
  })
})

describe('the options of the zone', () => {
  const pod = '10-244-1-1.data.pod.cluster.local'

  test('pods verified answers only Pods that are there, until the last of that address is gone', () => {
    const zone = new TestZone({ pods: 'verified' }).add(...exampleServices()).synced()
    assert.match(zone.line(pod, recordType.A), /^NXDOMAIN/)
    zone.zone.setPod('data/db-0', { namespace: 'data', addresses: [ip('10.244.1.1'), ip('fd00::1')] })
    zone.zone.setPod('data/db-1', { namespace: 'data', addresses: [ip('10.244.1.1')] })
    assert.match(zone.line(pod, recordType.A), / 30 A 10\.244\.1\.1$/)
    assert.match(zone.line('fd00--1.data.pod.cluster.local', recordType.AAAA), / 30 AAAA fd00::1$/)
    assert.match(zone.line('10-244-1-1.default.pod.cluster.local', recordType.A), /^NXDOMAIN/)
    zone.zone.setPod('data/db-0', undefined)
    assert.match(zone.line(pod, recordType.A), /^NOERROR/)
    zone.zone.setPod('data/db-1', undefined)
    assert.match(zone.line(pod, recordType.A), /^NXDOMAIN/)
  })

  test('pods disabled knows no Pod and no namespace of Pods', () => {
    const zone = new TestZone({ pods: 'disabled' }).add(...exampleServices()).synced()
    assert.match(zone.line(pod, recordType.A), /^NXDOMAIN/)
    assert.match(zone.line('data.pod.cluster.local', recordType.A), /^NXDOMAIN/)
    assert.match(zone.line('pod.cluster.local', recordType.A), /^NOERROR/)
  })

  test('a namespace exists while it or one of its Services exists', () => {
    const zone = new TestZone().synced()
    const exists = () => zone.ask('default.svc.cluster.local', recordType.A).rcode === rcode.NOERROR
    assert.equal(exists(), false)
    zone.add(view(makeService('default/web', '10.96.0.1')))
    zone.zone.setNamespace('default', true)
    zone.zone.setService('default/web', undefined)
    assert.equal(exists(), true)
    zone.zone.setNamespace('default', false)
    assert.equal(exists(), false)
  })

  test('namespaces hides the others, their Pods and their reverse answers', () => {
    const zone = new TestZone({ namespaces: new Set(['data']) }).add(...exampleServices()).synced()
    assert.match(zone.line(web, recordType.A), /^NXDOMAIN/)
    assert.match(zone.line('10-1-1-1.default.pod.cluster.local', recordType.A), /^NXDOMAIN/)
    assert.equal(zone.line('80.0.96.10.in-addr.arpa', recordType.PTR), 'not ours')
    assert.match(zone.line('db.data.svc.cluster.local', recordType.A), /^NOERROR/)
  })

  test('ignore empty_service hides Services without ready endpoints, noendpoints every endpoint', () => {
    const ignoring = new TestZone({ ignoreEmptyServices: true }).add(...exampleServices()).synced()
    assert.match(ignoring.line('plain.default.svc.cluster.local', recordType.A), /^NXDOMAIN/)
    assert.match(ignoring.line(web, recordType.A), /^NOERROR/)
    const without = new TestZone({ useEndpoints: false }).add(...exampleServices()).synced()
    assert.match(without.line('db.data.svc.cluster.local', recordType.A), /^NXDOMAIN/)
    assert.equal(without.line('1.1.244.10.in-addr.arpa', recordType.PTR), 'not ours')
  })

  test('endpoint_pod_names names endpoints by their Pods where they have no hostname', () => {
    const zone = new TestZone({ endpointPodNames: true }).add(...exampleServices()).synced()
    assert.match(zone.line('2.1.244.10.in-addr.arpa', recordType.PTR), /PTR db-x7k2p\.db\.data/)
    assert.match(zone.line('1.1.244.10.in-addr.arpa', recordType.PTR), /PTR db-0\.db\.data/)
  })

  test('an address of endpoints of several Services leads back to each, that of a Service to it alone', () => {
    const slice = (name: string) => makeSlice(`default/${name}`, [], [makeEndpoint('10.96.0.7', { hostname: 'h' })])
    const zone = new TestZone().synced()
    const headless = { headless: true, clusterIps: [] }
    zone.add(view(makeService('default/b', '10.96.0.1', headless), slice('b')))
    zone.add(view(makeService('default/a', '10.96.0.1', headless), slice('a')))
    const pointers = () => zone.ask('7.0.96.10.in-addr.arpa', recordType.PTR).answer.map(({ data }) => nameText(data))
    assert.deepEqual(pointers(), ['h.a.default.svc.cluster.local.', 'h.b.default.svc.cluster.local.'])
    zone.add(view(makeService('default/c', '10.96.0.7')))
    assert.deepEqual(pointers(), ['c.default.svc.cluster.local.'])
    zone.zone.setService('default/c', undefined)
    zone.zone.setService('default/b', undefined)
    assert.deepEqual(pointers(), ['h.a.default.svc.cluster.local.'])
  })

  test('several zones hold the same names; a reverse zone of a network only its own addresses', () => {
    const zones = [encodeName('cluster.local'), encodeName('example.org'), encodeName('0.96.10.in-addr.arpa')]
    const zone = new TestZone({ zones, fallthroughZones: [] }).add(...exampleServices()).synced()
    assert.match(zone.line('web.default.svc.example.org', recordType.SRV), /80 web\.default\.svc\.example\.org/)
    assert.match(zone.line('80.0.96.10.in-addr.arpa', recordType.PTR), /PTR web\.default\.svc\.cluster\.local/)
    assert.equal(zone.line('1.1.244.10.in-addr.arpa', recordType.PTR), 'not ours')
    assert.match(zone.line('9.0.96.10.in-addr.arpa', recordType.PTR), /^NXDOMAIN/)
  })

  test('fallthrough takes what is missing in its zones, above this one, the same or below it', () => {
    const line = (fallthrough: readonly string[], name: string) => {
      const zone = new TestZone({ fallthroughZones: fallthrough.map(encodeName) }).add(...exampleServices()).synced()
      return zone.line(name, recordType.A).split(' ')[0]
    }
    const missing = 'gone.data.svc.cluster.local'
    for (const zone of ['.', 'local', 'Cluster.Local', 'data.svc.cluster.local', missing])
      assert.equal(line([zone], missing), 'not', zone)
    for (const zone of ['default.svc.cluster.local', 'a.svc.cluster.local', 'xdata.svc.cluster.local', 'example.org'])
      assert.equal(line([zone], missing), 'NXDOMAIN', zone)
    assert.equal(line(['default.svc.cluster.local', 'data.svc.cluster.local'], missing), 'not')
    assert.equal(line(['.'], 'db.data.svc.cluster.local'), 'NOERROR', 'what is there does not fall through')
    assert.equal(line(['data.svc.cluster.local'], 'other.default.svc.cluster.local'), 'NXDOMAIN')
  })

  test('an endpoint in two slices has the ports of both', () => {
    const headless = makeService('default/two', '10.96.0.1', { headless: true, clusterIps: [] })
    const endpoint = makeEndpoint('10.1.0.1', { hostname: 'h' })
    const zone = new TestZone().synced()
    zone.add({
      service: headless,
      slices: [
        makeSlice('default/two', [['http', 'TCP', 80]], [endpoint], 'a'),
        makeSlice('default/two', [['dns', 'UDP', 53]], [endpoint, makeEndpoint('10.1.0.2')], 'b'),
        makeSlice('default/two', [['http', 'TCP', 80]], [endpoint], 'c'),
      ],
    })
    const name = 'two.default.svc.cluster.local'
    const ports = zone
      .ask(name, recordType.SRV)
      .answer.map(({ data }) => `${data.readUInt16BE(4)} ${nameText(data, 6)}`)
    assert.deepEqual(ports, [`80 h.${name}.`, `53 h.${name}.`, `53 10-1-0-2.${name}.`])
    assert.equal(zone.ask(name, recordType.A).answer.length, 2)
    assert.equal(zone.ask(`_http._tcp.${name}`, recordType.A).answer.length, 1)
    assert.equal(zone.ask(`_dns._udp.${name}`, recordType.A).answer.length, 2)
    assert.equal(zone.ask(`h.${name}`, recordType.SRV).answer.length, 2)
  })

  test('every address of an endpoint is answered, and leads back to it', () => {
    const headless = makeService('default/many', '10.96.0.1', { headless: true, clusterIps: [] })
    const otherAddresses = [ip('10.1.0.2'), ip('10.1.0.3')]
    const slice = makeSlice('default/many', [['http', 'TCP', 80]], [makeEndpoint('10.1.0.1', { otherAddresses })])
    const zone = new TestZone().add(view(headless, slice)).synced()
    const addresses = (name: string) => zone.ask(name, recordType.A).answer.map(({ data }) => data.join('.'))
    assert.deepEqual(addresses('many.default.svc.cluster.local'), ['10.1.0.1', '10.1.0.2', '10.1.0.3'])
    assert.deepEqual(addresses('10-1-0-3.many.default.svc.cluster.local'), ['10.1.0.3'])
    assert.match(zone.line('2.0.1.10.in-addr.arpa', recordType.PTR), /PTR 10-1-0-2\.many\./)
    assert.equal(zone.ask('_http._tcp.many.default.svc.cluster.local', recordType.SRV).answer.length, 3)
  })

  test('weights come to 100 at most and none is 0', () => {
    const endpoints = Array.from({ length: 120 }, (_, host) => makeEndpoint(`10.0.0.${host}`))
    const many = makeService('default/many', '10.96.0.1', {
      headless: true,
      clusterIps: [],
      ports: [makePort('', 'TCP', 1)],
    })
    const zone = new TestZone().add(view(many, makeSlice('default/many', [['', 'TCP', 1]], endpoints))).synced()
    const { answer } = zone.ask('many.default.svc.cluster.local', recordType.SRV)
    assert.equal(answer.length, 120)
    assert.ok(answer.every(({ data }) => data.readUInt16BE(2) === 1))
  })
})

describe('an ExternalName', () => {
  const zone = new TestZone().add(...exampleServices()).synced()
  const out = Buffer.alloc(65_535)

  function follow(name: string, answerTarget: (bytes: Buffer) => Buffer | undefined): string {
    const query = parsedQuery(makeQuery(name, recordType.A, { edns: {} }))
    const alias = zone.table.alias(query)
    assert.ok(alias)
    const bytes = answerTarget(makeTargetQuery(query, alias.data))
    const reply = joinAlias(alias, bytes && { bytes, length: bytes.length })
    return messageLine(readMessage(out, writeReply(query, reply, out, 1232)))
  }

  test('is answered with its target in the zone', () => {
    const line = follow('in.ext.svc.cluster.local', (bytes) => {
      const target = Buffer.alloc(1232)
      return target.subarray(0, zone.table.answer(parsedQuery(bytes), target, 1232))
    })
    assert.equal(
      line,
      'NOERROR aa | in.ext.svc.cluster.local. 30 CNAME web.default.svc.cluster.local., web.default.svc.cluster.local. 30 A 10.96.0.80',
    )
  })

  test('has the rcode and SOA of a target that does not exist, and stands alone where no server answers', () => {
    const missing = follow('out.ext.svc.cluster.local', (bytes) => {
      const soa = zone.ask('gone.cluster.local', recordType.A).authority
      const target = Buffer.alloc(1232)
      const reply = { rcode: rcode.NXDOMAIN, flags: flag.RA, answer: [], authority: soa, additional: [] }
      return target.subarray(0, writeReply(parsedQuery(bytes), reply, target, 1232))
    })
    assert.match(missing, /^NXDOMAIN aa ra \| out\.ext.* 30 CNAME www\.example\.org\. \| cluster\.local\. 5 SOA/)
    const alone = follow('out.ext.svc.cluster.local', () => undefined)
    assert.equal(alone, 'NOERROR aa | out.ext.svc.cluster.local. 30 CNAME www.example.org.')
  })

  test('has no alias record where the name is another kind of Service', () => {
    assert.equal(zone.table.alias(parsedQuery(makeQuery(web, recordType.A))), undefined)
  })
})
