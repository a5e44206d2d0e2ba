import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { HostsAnswers } from '../../../src/node/dns/plugins/hosts/hosts-answers.ts'
import { QueryRewriter } from '../../../src/node/dns/plugins/rewrite/query-rewriter.ts'
import { TemplateAnswers } from '../../../src/node/dns/plugins/template/template-answers.ts'
import { flag, rcode, recordType, typeName } from '../../../src/node/dns/wire/codes.ts'
import type { Query } from '../../../src/node/dns/wire/query.ts'
import type { Reply } from '../../../src/node/dns/wire/response.ts'
import { Coredns, lackOfCoredns } from '../../helpers/coredns.ts'
import { makeQuery, parsedQuery } from '../../helpers/dns-messages.ts'
import { answerOf, blockWith } from '../../helpers/dns-plugins.ts'
import { recordText } from '../../helpers/dns-zone.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const hostsFile = `# a comment
10.0.0.1 web.example.org web
10.0.0.2 web.example.org # another
fd00::1  web.example.org
10.0.0.3 WEB2.Example.Org
junk     x.example.org
`

function directives(file: string): string {
  return `hosts ${file} example.org web 10.in-addr.arpa {
    10.0.0.7 inline.example.org
    ttl 60
  }
  template IN A tpl.test {
    match "^ip-(?P<a>[0-9]+)-([0-9]+)[.]tpl[.]test[.]$"
    match ^ready[.]
    answer "{{ .Name }} 60 IN A 10.0.{{ .Group.a }}.{{ index .Match 2 }}"
    additional "extra.{{ .Zone }} 60 IN TXT hello"
  }
  template IN MX mx.test {
    answer "{{ .Name }} 7 IN MX 10 mail.{{ .Zone }}"
    authority "{{ .Zone }} 60 {{ .Class }} NS ns.{{ .Zone }}"
  }
  template ANY ANY none.test {
    rcode NXDOMAIN
    authority "none.test. 60 IN SOA ns.none.test. admin.none.test. 1 2 3 4 5"
  }
  rewrite name exact.test web.example.org
  rewrite name suffix .old.test .example.org answer auto
  rewrite name prefix pre. inline. answer auto
  rewrite name regex ^(.*)[.]regex[.]test[.]$ {1}.example.org answer name ^(.*)[.]example[.]org[.]$ {1}.regex.test
  rewrite continue name chain.test chain2.test
  rewrite name chain2.test web.example.org
  rewrite continue ttl suffix .example.org. 100-200
  rewrite type SPF A`
}

const names = [
  ...[
    'web.example.org',
    'WEB.example.org',
    'web2.example.org',
    'inline.example.org',
    'gone.example.org',
    'x.example.org',
    'web',
  ],
  ...['1.0.0.10.in-addr.arpa', '9.0.0.10.in-addr.arpa', '0.10.in-addr.arpa'],
  ...['ip-1-2.tpl.test', 'ready.tpl.test', 'other.tpl.test', 'a.mx.test', 'mx.test', 'none.test', 'a.none.test'],
  ...['exact.test', 'web.old.test', 'gone.old.test', 'pre.example.org', 'web.regex.test', 'chain.test'],
]
const types = [recordType.A, recordType.AAAA, recordType.PTR, recordType.MX, recordType.SPF]

function describe({ rcode: code, flags, answer, authority, additional }: Reply): string {
  const sections = [answer, authority, additional].map((records) => records.map(recordText).sort().join(', '))
  return [code, (flags & flag.AA) !== 0 ? 'aa' : '', ...sections].join(' | ').toLowerCase()
}

test('hosts, template and rewrite answer as those of CoreDNS', async (t) => {
  const lack = lackOfCoredns()
  if (lack !== undefined) return t.skip(lack)
  const file = join(makeTemporaryFolder(t), 'hosts')
  writeFileSync(file, hostsFile)
  const block = blockWith(directives(file))
  assert.ok(block.hosts)
  const chain = {
    rewriter: new QueryRewriter(block.rewrite),
    template: new TemplateAnswers(block.template),
    hosts: new HostsAnswers(block.hosts, hostsFile),
  }
  const answer = (query: Query): Reply =>
    chain.template.answer(query, '127.0.0.1') ??
    chain.hosts.answer(query) ?? { rcode: rcode.SERVFAIL, flags: 0, answer: [], authority: [], additional: [] }
  const coredns = await Coredns.start(t, directives(file), 'web.example.org')
  const different: string[] = []
  for (const name of names) {
    for (const type of types) {
      const query = parsedQuery(makeQuery(name, type))
      const rewritten = chain.rewriter.rewrite(query)
      const reply = rewritten && answer(parsedQuery(rewritten.bytes))
      const ours = describe(reply ? (rewritten?.restore({ ...answerOf(), ...reply }) ?? reply) : answer(query))
      const theirs = describe(await coredns.ask(name, type))
      if (ours !== theirs) different.push(`${name} ${typeName(type)}\n  CoreDNS ${theirs}\n  Platnet ${ours}`)
    }
  }
  assert.deepEqual(different, [])
})
