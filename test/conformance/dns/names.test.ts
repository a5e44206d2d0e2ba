import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { objectKey } from '../../../src/model/api-object.ts'
import { createDialect } from '../../../src/model/dialect.ts'
import type { EndpointSlice } from '../../../src/model/endpoint-slice.ts'
import { flag, rcode, recordType, typeName } from '../../../src/node/dns/wire/codes.ts'
import type { DnsMessage } from '../../../src/node/dns/wire/message.ts'
import type { ServiceView } from '../../../src/node/dns/zone/service-records.ts'
import { parseEndpointSlice } from '../../../src/node/state/parse-endpoint-slice.ts'
import { parseService } from '../../../src/node/state/parse-service.ts'
import { startTestServer, type TestServer, testToken } from '../../helpers/api-server.ts'
import { Coredns, lackOfCoredns } from '../../helpers/coredns.ts'
import { recordText, TestZone } from '../../helpers/dns-zone.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { fixtures, namespaces } from './cluster-fixture.ts'

const dialect = createDialect('kubernetes')
const { A, AAAA, SRV, CNAME, PTR, TXT, NS, SOA, MX, HTTPS } = recordType
const types = [A, AAAA, SRV, CNAME, PTR, TXT, NS, SOA, MX, HTTPS]

/** Where we answer otherwise on purpose; each has its reason in src/node/dns/plugins/kubernetes/README.md and must occur. */
const intended: readonly { readonly why: string; readonly applies: (question: Question) => boolean }[] = [
  { why: 'a name with names below it exists', applies: ({ name }) => /^(_tcp|_udp)\.[^_]|^dns\.cluster/.test(name) },
  {
    why: 'a name without records of a type exists all the same',
    applies: ({ name, type }) => name === 'dns-version.cluster.local' && type !== TXT,
  },
  {
    why: 'a reverse name that has a PTR exists for every type',
    applies: ({ name, type }) => name.endsWith('.arpa') && type !== PTR,
  },
  { why: 'underscores are part of the name', applies: ({ name }) => /^(http\.tcp|dns\.udp|sql\.tcp)\./.test(name) },
  {
    why: 'the Pod of an endpoint is a name beside its address',
    applies: ({ name }) => /^(db-x7k2p|web-1)\./.test(name),
  },
  {
    why: 'the name server has the address of the cluster DNS',
    applies: ({ name, type }) => type === NS || name.startsWith('ns.dns.'),
  },
  { why: 'negative answers hold 5 s', applies: ({ type, name }) => type === SOA && !name.endsWith('.arpa') },
  {
    why: 'an alias is for its target to finish',
    applies: ({ name, type }) => name.startsWith('out.ext') && type !== CNAME,
  },
  {
    why: 'the address of an endpoint is a name beside its hostname',
    applies: ({ name }) => /^(fd00-244--1|10-244-1-1)\.db\./.test(name),
  },
  {
    why: 'whether a name exists does not depend on the type',
    applies: ({ name, type }) => type === TXT && /^((\w+\.)?(svc|pod)\.)?cluster\.local$/.test(name),
  },
  { why: 'a Pod has no ports', applies: ({ name, type }) => name.includes('.pod.') && type === SRV },
  { why: 'nothing lies below a Pod', applies: ({ name }) => name.startsWith('x.10-1-2-3') },
]

interface Question {
  readonly name: string
  readonly type: number
}

function questions(): readonly Question[] {
  const services = [
    'web.default',
    'plain.default',
    'db.data',
    'none.data',
    'portless.data',
    'out.ext',
    'bad.ext',
    'gone.default',
  ]
  const below = services.flatMap((name) => [
    ...[name, `_http._tcp.${name}`, `_dns._udp.${name}`, `_sql._tcp.${name}`, `_tcp.${name}`, `_http._udp.${name}`],
    ...[
      `http.tcp.${name}`,
      `a.b.c.${name}`,
      `db-0.${name}`,
      `second.${name}`,
      `10-244-0-1.${name}`,
      `10-244-1-2.${name}`,
    ],
    ...[
      `10-244-0-9.${name}`,
      `10-244-1-9.${name}`,
      `db-x7k2p.${name}`,
      `web-1.${name}`,
      `*.${name}`,
      `fd00-244--1.${name}`,
    ],
  ])
  const inZone = [
    ...below.map((name) => `${name}.svc`),
    ...['', 'svc', 'pod', 'nope', 'any.svc', '*.svc', 'dns', 'ns.dns', 'dns-version', 'x.dns-version'],
    ...['default', 'data', 'ext', 'empty', 'gone'].flatMap((name) => [`${name}.svc`, `${name}.pod`]),
    ...[
      '10-1-2-3.default',
      '10-1-2-3.gone',
      '10-1-2.default',
      '1-2-3-4-5.default',
      'fd00--7.data',
      'x.10-1-2-3.data',
    ].map((name) => `${name}.pod`),
  ].map((name) => (name === '' ? 'cluster.local' : `${name}.cluster.local`))
  const reverse = [
    '80.0.96.10',
    '81.0.96.10',
    '1.0.244.10',
    '9.0.244.10',
    '1.1.244.10',
    '2.1.244.10',
    '7.7.7.10',
    '0.96.10',
    '10',
  ].map((name) => `${name}.in-addr.arpa`)
  const names = [...inZone, ...reverse, `1.${'0.'.repeat(23)}4.4.2.0.0.0.d.f.ip6.arpa`]
  return names.flatMap((name) => types.map((type) => ({ name, type })))
}

/** What has to be alike: rcode, AA, records in any order; of a denial that there is an SOA. Without the plugin's zone, nothing. */
function describeAnswer({ rcode: code, flags, answer, authority, additional }: DnsMessage): string {
  const list = (records: DnsMessage['answer']) => records.map(recordText).sort().join(', ')
  const denial = authority.length > 0 ? 'SOA' : ''
  return [code, (flags & flag.AA) !== 0 ? 'aa' : '', list(answer), denial, list(additional)].join(' | ')
}

async function createObjects(server: TestServer): Promise<void> {
  for (const name of ['default', ...namespaces])
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
  for (const { path, body } of fixtures) {
    const { code, text } = await server.call('POST', path, { body })
    assert.equal(code, 201, text)
  }
}

/** What this node's state makes of the objects as the API gives them out. */
async function readViews(server: TestServer): Promise<readonly ServiceView[]> {
  const list = async (path: string): Promise<readonly object[]> => (await server.call('GET', path)).body.items
  const slices = (await list('/apis/discovery.k8s.io/v1/endpointslices'))
    .map((item) => parseEndpointSlice(item, dialect).value)
    .filter((slice): slice is EndpointSlice => slice !== undefined)
  return (await list('/api/v1/services')).flatMap((item) => {
    const service = parseService(item, dialect).value
    if (service === undefined) return []
    const key = objectKey(service.namespace, service.name)
    return [{ service, slices: slices.filter((slice) => slice.service === key) }]
  })
}

function writeKubeconfig(folder: string, server: TestServer): string {
  const file = join(folder, 'kubeconfig')
  const cluster = {
    server: server.url,
    'certificate-authority-data': Buffer.from(server.authority.certPem).toString('base64'),
  }
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: testToken } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  writeFileSync(file, JSON.stringify(config))
  return file
}

test('the names of a cluster are answered like CoreDNS does, except for the intended differences', async (t) => {
  const lack = lackOfCoredns()
  if (lack !== undefined) return t.skip(lack)
  await using server = await startTestServer()
  await createObjects(server)
  const zone = new TestZone().add(...(await readViews(server))).synced()
  for (const name of ['default', ...namespaces]) zone.zone.setNamespace(name, true)
  const coredns = await Coredns.start(
    t,
    `kubernetes cluster.local in-addr.arpa ip6.arpa {
      kubeconfig ${writeKubeconfig(makeTemporaryFolder(t), server)} x
      pods insecure
      ttl 30
      fallthrough in-addr.arpa ip6.arpa
    }`,
    'plain.default.svc.cluster.local',
  )
  const seen = new Set<string>()
  const different: string[] = []
  for (const question of questions()) {
    const theirs = describeAnswer(await coredns.ask(question.name, question.type))
    const ours = ownAnswer(zone, question)
    if (ours === theirs) continue
    const why = intended.find(({ applies }) => applies(question))?.why
    if (why === undefined)
      different.push(`${question.name} ${typeName(question.type)}\n  CoreDNS ${theirs}\n  Platnet ${ours}`)
    else seen.add(why)
  }
  assert.deepEqual(different, [])
  assert.deepEqual([...seen].sort(), intended.map(({ why }) => why).sort(), 'a difference that is none any more')
})

/** With nothing behind it, a name that falls through is refused by CoreDNS without AA: SERVFAIL. */
function ownAnswer(zone: TestZone, { name, type }: Question): string {
  const answer = zone.askRaw(name, type, { edns: {} })
  if (answer === 'not ours') return `${rcode.SERVFAIL} |  |  |  | `
  return answer === 'alias' ? answer : describeAnswer(zone.ask(name, type, { edns: {} }))
}
