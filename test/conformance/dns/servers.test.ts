import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { flag, rcode, recordType, typeName } from '../../../src/node/dns/wire/codes.ts'
import { readMessage } from '../../../src/node/dns/wire/message.ts'
import { nameText } from '../../../src/node/dns/wire/name.ts'
import { Coredns, lackOfCoredns } from '../../helpers/coredns.ts'
import { startCorefileServer } from '../../helpers/corefile-server.ts'
import { makeQuery, parsedQuery, type QueryDetails } from '../../helpers/dns-messages.ts'
import { askUdp } from '../../helpers/dns-server.ts'
import { recordText } from '../../helpers/dns-zone.ts'
import { type Asked, FakeUpstream } from '../../helpers/fake-upstream.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { answerBytes } from '../../helpers/upstream-messages.ts'

const hostsFile = '192.0.2.1 web.example.org\n192.0.2.2 web.example.org\n2001:db8::1 web.example.org\n'

interface Listeners {
  readonly port: number
  /** Of metrics and health. */
  readonly http: readonly [number, number]
  readonly upstream: number
  readonly hosts: string
}

function corefile({ port, http, upstream, hosts }: Listeners): string {
  return `.:${port} {
    bind 127.0.0.1
    errors
    log . {
      class error
    }
    prometheus 127.0.0.1:${http[0]}
    health 127.0.0.1:${http[1]}
    cache 30 up
    loadbalance
    hosts ${hosts} example.org {
      ttl 60
      fallthrough next.example.org
    }
    template IN A tpl.test {
      match ^ip-(?P<hex>[0-9a-f]+)[.]
      answer "{{ .Name }} 60 IN A 192.0.2.{{ parseInt .Group.hex 16 8 }}"
      additional "more.{{ .Zone }} 60 IN TXT \\"{{ .Question.Qtype }} {{ .Type }}\\""
    }
    template ANY ANY blocked.test {
      rcode NXDOMAIN
      authority "blocked.test. 60 {{ .Class }} SOA ns.blocked.test. admin.blocked.test. (1 60 60 60 60)"
      ederror 17 "not here"
    }
    template IN ANY alias.test {
      answer "alias.test 60 IN CNAME web.example.org"
    }
    rewrite name exact old.test web.example.org
    rewrite name suffix .was.test .example.org answer auto
    rewrite continue ttl regex .*[.]short[.]up[.] 5
    rewrite type HINFO A
    forward . 127.0.0.1:${upstream}
  }
  only.test:${port} {
    bind 127.0.0.1
    template IN A {
      answer "{{ .Name }} 60 IN A 192.0.2.77"
    }
  }
`
}
const { A, AAAA, MX, TXT, HINFO, SOA } = recordType
const names = [
  ...['web.example.org', 'WEB.Example.ORG', 'gone.example.org', 'x.next.example.org', 'old.test', 'web.was.test'],
  ...['ip-0a.tpl.test', 'ip-fff.tpl.test', 'bad.tpl.test', 'blocked.test', 'a.blocked.test', 'alias.test'],
  ...['a.up', 'B.Up', 'a.short.up', 'missing.up', 'empty.up', 'broken.up', 'refused.up', 'uncached.test'],
  ...['a.only.test', 'only.test', '.'],
]
const types = [A, AAAA, MX, TXT, HINFO, SOA]
const shapes: Readonly<Record<string, QueryDetails>> = {
  plain: {},
  'without RD': { flags: 0 },
  'CD and AD': { flags: flag.RD | flag.CD | flag.AD },
  'EDNS with DO, a cookie and a subnet': {
    edns: {
      udpSize: 4096,
      dnssecOk: true,
      options: Buffer.from('000a0008010203040506070800080007000118 00c00002'.replace(' ', ''), 'hex'),
    },
  },
  'EDNS of version 1': { edns: { version: 1 } },
  'class CH': { class: 3 },
  'an unknown opcode': { flags: 0x3000 },
}

interface Case {
  readonly name: string
  readonly type: number
  readonly shape: string
}

const withoutOpt = (answer: string) => answer.replace(/ [^|]*$/, '')

/** Where we answer otherwise on purpose, but for what `blind` leaves out alike; each has its reason in src/node/dns/README.md or that of a plugin and must occur. */
const intended: readonly {
  readonly why: string
  readonly applies: (one: Case) => boolean
  readonly blind: (answer: string) => string
}[] = [
  { why: 'BADVERS tells how much we take', applies: ({ shape }) => shape === 'EDNS of version 1', blind: withoutOpt },
  {
    why: 'owners in hosts are spelt as in the question',
    applies: ({ name }) => name.startsWith('WEB'),
    blind: (answer) => answer.toLowerCase(),
  },
  {
    why: 'an extended error is for who knows EDNS, and keeps the cookie',
    applies: ({ name }) => name.endsWith('blocked.test'),
    blind: withoutOpt,
  },
  {
    why: 'AA of what is kept is what the upstream said',
    applies: ({ name }) => name.toLowerCase().endsWith('up'),
    blind: (answer) => answer.replace(' AA', ''),
  },
  {
    why: 'other classes are refused by each block that does not forward',
    applies: ({ name, shape }) => name.endsWith('only.test') && shape === 'class CH',
    blind: (answer) => answer.replace(/^\d+/, ''),
  },
]

const soa = { ttl: 20, minimum: 20 }

function script({ name, bytes }: Asked): readonly Buffer[] {
  const { type } = parsedQuery(bytes)
  if (name === 'missing.up.') return [answerBytes(bytes, { rcode: rcode.NXDOMAIN, soa })]
  if (name === 'broken.up.') return [answerBytes(bytes, { rcode: rcode.SERVFAIL })]
  if (name === 'refused.up.') return [answerBytes(bytes, { rcode: rcode.REFUSED })]
  if (name === 'empty.up.' || type !== A) return [answerBytes(bytes, { soa })]
  return [answerBytes(bytes, { addresses: ['192.0.2.7', '192.0.2.8'], ttl: 100 })]
}

/** All that a client sees, but for the order of records and how long they are kept. */
function describe(bytes: Buffer | undefined): string {
  if (bytes === undefined) return 'nothing'
  const { flags, rcode: code, question, answer, authority, additional, edns } = readMessage(bytes, bytes.length)
  const set = Object.entries({ ...flag, opcode: 0x7800 }).filter(([, bit]) => (flags & bit) !== 0)
  const sections = [answer, authority, additional].map((records) => records.map(recordText).sort().join(', '))
  const opt = edns && `size ${edns.udpSize} do ${edns.dnssecOk} options ${edns.options.toString('hex')}`
  const asked = question && `${nameText(question.name)} ${question.type} ${question.class}`
  return [code, set.map(([name]) => name).join(' '), asked, ...sections, opt ?? 'no EDNS'].join(' | ')
}

/** The same question to both; what differs and is not meant to, else why it does. */
async function compare(one: Case, ports: { readonly own: number; readonly coredns: number }) {
  const query = makeQuery(one.name, one.type, shapes[one.shape])
  const answers = await Promise.all([askUdp(query, ports.own, 30_000), askUdp(query, ports.coredns, 30_000)])
  const [ours = '', theirs = ''] = answers.map(describe)
  if (ours === theirs) return {}
  const why = intended.find(({ applies, blind }) => applies(one) && blind(ours) === blind(theirs))?.why
  const text = `${one.name} ${typeName(one.type)} ${one.shape}\n  CoreDNS ${theirs}\n  Platnet ${ours}`
  return why === undefined ? { different: text } : { why }
}

/** Names of metrics with the names of their labels, and the values of those labels that say what was counted. */
async function describeMetrics(metricsPort: number, port: number): Promise<readonly string[]> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const lines = text.split('\n').filter((line) => /^coredns_/.test(line))
  const described = lines.map((line) => {
    const [, name = '', labels = ''] = /^(\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? /.exec(line) ?? []
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].filter(([, label]) => label !== 'le')
    const shown = pairs
      .map(([, label = '', value]) => (labelsWithValues.has(label) ? `${label}=${value}` : label))
      .sort()
    return `${name} ${shown.join(' ')}`.replaceAll(`:${port}`, ':PORT')
  })
  return [...new Set(described)].sort()
}

const labelsWithValues = new Set([
  'server',
  'zone',
  'zones',
  'view',
  'proto',
  'family',
  'type',
  'rcode',
  'name',
  'proxy_name',
  'to',
  'class',
  'section',
])

/** What CoreDNS counts and we do not, or otherwise: each has its reason in src/node/dns/README.md or that of a plugin. */
const otherMetrics = /^coredns_local_localhost_requests_total/

test('a server answers as CoreDNS with the same Corefile, whole messages compared; and counts under the same names', async (t) => {
  const lack = lackOfCoredns()
  if (lack !== undefined) return t.skip(lack)
  const upstream = await new FakeUpstream(script).start()
  t.after(() => upstream.stop())
  const hosts = join(makeTemporaryFolder(t), 'hosts')
  writeFileSync(hosts, hostsFile)
  const places = { upstream: upstream.port, hosts }
  const theirHttp = [await findFreePort(), await findFreePort()] as const
  const coredns = await Coredns.startWith(
    t,
    (port) => corefile({ port, http: theirHttp, ...places }),
    'web.example.org',
  )
  const port = await findFreePort()
  const http = [await findFreePort(), await findFreePort()] as const
  await startCorefileServer(t, { text: corefile({ port, http, ...places }), texts: { [hosts]: hostsFile } })
  const different: string[] = []
  const seen = new Set<string>()
  for (const name of names)
    for (const type of types)
      for (const shape of Object.keys(shapes)) {
        const found = await compare({ name, type, shape }, { own: port, coredns: coredns.port })
        if (found.different !== undefined) different.push(found.different)
        if (found.why !== undefined) seen.add(found.why)
      }
  assert.deepEqual(different, [])
  assert.deepEqual([...seen].sort(), intended.map(({ why }) => why).sort(), 'a difference that is none any more')

  const [ours, theirs] = [await describeMetrics(http[0], port), await describeMetrics(theirHttp[0], coredns.port)]
  assert.deepEqual(
    theirs.filter((line) => !ours.includes(line) && !otherMetrics.test(line)),
    [],
  )
  assert.ok(theirs.length > 40, 'CoreDNS tells much')
})
