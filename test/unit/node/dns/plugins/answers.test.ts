import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HostsAnswers } from '../../../../../src/node/dns/plugins/hosts/hosts-answers.ts'
import { TemplateAnswers } from '../../../../../src/node/dns/plugins/template/template-answers.ts'
import { compileTemplate } from '../../../../../src/node/dns/plugins/template/text-template.ts'
import { recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { ask, blockWith, replyLine } from '../../../../helpers/dns-plugins.ts'

const { A, AAAA, PTR, TXT, MX } = recordType

describe('hosts', () => {
  const file =
    '# local\n10.0.0.1 Web.Example.org web # and more\n10.0.0.2 web.example.org\nfd00::1 web.example.org\nnonsense x\n10.0.0.9 out.test\n'

  function hosts(directive: string): HostsAnswers {
    const settings = blockWith(directive).hosts
    assert.ok(settings)
    return new HostsAnswers(settings, file)
  }

  const plain = hosts(
    'hosts /etc/h example.org 10.in-addr.arpa ip6.arpa {\n 10.0.0.7 inline.example.org\n ttl 60\n fallthrough b.example.org\n}',
  )
  for (const [name, type, expected] of [
    ['web.example.org', A, 'NOERROR aa | web.example.org. 60 A 10.0.0.1, web.example.org. 60 A 10.0.0.2'],
    ['WEB.example.org', AAAA, 'NOERROR aa | WEB.example.org. 60 AAAA fd00::1'],
    ['inline.example.org', A, 'NOERROR aa | inline.example.org. 60 A 10.0.0.7'],
    ['inline.example.org', AAAA, 'NOERROR aa'],
    ['inline.example.org', MX, 'NOERROR aa'],
    ['1.0.0.10.in-addr.arpa', PTR, 'NOERROR aa | 1.0.0.10.in-addr.arpa. 60 PTR web.example.org.'],
    ['3.0.0.10.in-addr.arpa', PTR, 'next'],
    [
      `1.${'0.'.repeat(27)}0.0.d.f.ip6.arpa`,
      PTR,
      `NOERROR aa | 1.${'0.'.repeat(27)}0.0.d.f.ip6.arpa. 60 PTR web.example.org.`,
    ],
    ['0.10.in-addr.arpa', PTR, 'next'],
    ['gone.example.org', A, 'SERVFAIL'],
    ['gone.b.example.org', A, 'next'],
    ['web', A, 'next'],
    ['out.test', A, 'next'],
  ] as const) {
    test(`${name} ${type}: ${expected}`, () => assert.equal(replyLine(plain.answer(ask(name, type))), expected))
  }

  test('no_reverse answers no address, and fallthrough without zones passes every name on', () => {
    const other = hosts('hosts /etc/h {\n no_reverse\n fallthrough\n}')
    assert.equal(replyLine(other.answer(ask('1.0.0.10.in-addr.arpa', PTR))), 'next')
    assert.equal(replyLine(other.answer(ask('gone.example.org', A))), 'next')
    assert.equal(replyLine(other.answer(ask('web', A))), 'NOERROR aa | web. 3600 A 10.0.0.1')
  })
})

test('50,000 names of one address, and 50,000 addresses of one name, are read in linear time, and answered in part', () => {
  const settings = blockWith('hosts /etc/h . {\n ttl 60\n}').hosts
  assert.ok(settings)
  const names = Array.from({ length: 50_000 }, (_, at) => `192.0.2.1 blocked-${at}.test`)
  const addresses = Array.from({ length: 50_000 }, (_, at) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255} many.test`)
  const startedMs = performance.now()
  const hosts = new HostsAnswers(settings, [...names, ...addresses].join('\n'))
  // Squared, it takes half a minute.
  assert.ok(performance.now() - startedMs < 5_000)
  assert.equal(hosts.size, 200_000)
  assert.equal(hosts.answer(ask('1.2.0.192.in-addr.arpa', PTR))?.answer.length, 5_000)
  assert.equal(hosts.answer(ask('many.test', A))?.answer.length, 5_000)
  assert.equal(hosts.answer(ask('blocked-7.test', A))?.answer.length, 1)
})

describe('template', () => {
  function template(directives: string): TemplateAnswers {
    return new TemplateAnswers(blockWith(directives).template)
  }

  const plain = template(
    `
    template IN A example.org {
      match "^ip-(?P<a>[0-9]+)-(?P<b>[0-9]+)[.]example[.]org[.]$"
      match ^pair[.]
      answer "{{ .Name }} 60 IN A 10.0.{{ .Group.a }}.{{ index .Group \\"b\\" }}"
      additional "extra.{{ .Zone }} 60 IN TXT \\"from {{ .Remote }}\\""
      authority "{{ .Zone }} 60 {{ .Class }} NS ns.{{ .Zone }}"
      fallthrough x.example.org
    }
    template IN ANY example.net {
      rcode NXDOMAIN
      authority "example.net. 60 IN SOA ns.example.net. admin.example.net. 1 2 3 4 5"
    }
    template ANY TXT example.com {
      match ^(\\w+)[.]
      answer "{{ .Name }} {{ .Type }} {{- \\" \\" }} x"
    }`.replace('{{- \\" \\" }} x', '{{ index .Match 1 }}'),
  )
  test('the labels of what it counts are names of types, one for all types that have no name', () => {
    const counted: string[] = []
    const settings = blockWith('\n    template ANY ANY example.net {\n      rcode NXDOMAIN\n    }').template
    const counting = new TemplateAnswers(settings, (name, labels) =>
      counted.push(`${name} ${labels['class']} ${labels['type']}`),
    )
    for (const type of [MX, 4_321, 54_321]) counting.answer(ask('a.example.net', type), '192.0.2.7')
    assert.deepEqual(counted, ['matches_total IN MX', 'matches_total IN other', 'matches_total IN other'])
  })

  for (const [name, type, expected] of [
    [
      'IP-1-2.example.org',
      A,
      'NOERROR aa | ip-1-2.example.org. 60 A 10.0.1.2 | example.org. 60 NS ns.example.org. | extra.example.org. 60 TXT "from 192.0.2.7"',
    ],
    ['pair.example.org', A, 'SERVFAIL'],
    ['other.example.org', A, 'SERVFAIL'],
    ['other.x.example.org', A, 'next'],
    ['ip-1-2.example.org', AAAA, 'next'],
    ['any.example.net', MX, 'NXDOMAIN aa |  | example.net. 60 SOA ns.example.net. minimum 5'],
    ['word.example.com', TXT, 'NOERROR aa | word.example.com. 3600 TXT "word"'],
    ['else.test', A, 'next'],
  ] as const) {
    test(`${name} ${type}: ${expected}`, () => {
      assert.equal(replyLine(plain.answer(ask(name, type), '192.0.2.7')), expected)
    })
  }

  test('classes are distinguished', () => {
    const chaos = template('template CH TXT . {\n answer "{{ .Name }} 0 CH TXT hi"\n}')
    assert.equal(replyLine(chaos.answer(ask('version.bind', TXT), '')), 'next')
    assert.match(replyLine(chaos.answer(ask('version.bind', TXT, 3), '')), /^NOERROR/)
  })

  test('an unsupported template is refused with its line', () => {
    assert.throws(() => template('template IN A {\n answer "{{ range .X }}"\n}'), /Corefile:3 - /)
    for (const text of [
      '{{ .Meta "x" }}',
      '{{ index .Match }}',
      '{{ parseInt "1" 2 }}',
      '{{ (.Name }}',
      '{{ .Name .Zone }}',
      '{{ "a }}',
    ])
      assert.equal(compileTemplate(text), undefined, text)
    assert.equal(compileTemplate('{{ .Name'), undefined)
  })

  test('dashes trim the blanks beside them', () => {
    assert.equal(compileTemplate('a {{- .Name -}} b {{ .Type }}!')?.(data), 'an.b A!')
  })

  const data = {
    ...{ name: 'n.', zone: 'z.', class: 'IN', type: 'A', remote: '::1', pattern: '^(.)(.)$' },
    ...{ match: ['0aFf', '0a'], groups: { '0': '0aFf', '1': '0a', hex: 'Ff' } },
    question: { name: 'N.', type: 1, class: 1, id: 7 },
  }
  for (const [text, expected] of [
    ['{{ parseInt .Group.hex 16 8 }}', '255'],
    ['{{ parseInt (index .Match 1) 16 8 }}.{{ index .Match 0 }}', '10.0aFf'],
    ['{{ index .Group "hex" | print "x" }}', 'xFf'],
    ['{{/* nothing */}}{{ len .Match }} {{ len .Name }}', '2 2'],
    [
      '{{ .Question.Name }} {{ .Question.Qtype }} {{ .Message.Id }} {{ .Regex }} {{ print `"` "}}" }}',
      'N. 1 7 ^(.)(.)$ "}}',
    ],
  ] as const) {
    test(`an action: ${text}`, () => assert.equal(compileTemplate(text)?.(data), expected))
  }

  for (const text of [
    '{{ .Group.none }}',
    '{{ index .Match 9 }}',
    '{{ parseInt .Group.hex 10 8 }}',
    '{{ parseInt .Group.hex 16 7 }}',
  ]) {
    test(`fails on what the question does not have: ${text}`, () => {
      assert.throws(() => compileTemplate(text)?.(data), { code: 'text' })
    })
  }

  test('an extended error goes with the answer to a query with EDNS', () => {
    const made = template('template ANY ANY . {\n rcode NXDOMAIN\n ederror 21 "not here"\n}').answer(
      ask('a.test', A),
      '',
    )
    assert.equal(made?.extendedError?.toString('latin1'), '\x00\x0f\x00\x0a\x00\x15not here')
  })

  test('the numbers of an SOA may stand in parentheses', () => {
    const soa = template('template IN A {\n authority "z. 60 IN SOA ns.z. admin.z. (1 2 3 4 5)"\n}')
    assert.equal(replyLine(soa.answer(ask('a.z', A), '')), 'NOERROR aa |  | z. 60 SOA ns.z. minimum 5')
  })
})
