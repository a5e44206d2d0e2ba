import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { flag, rcode, recordType, typeName } from '../../../../src/node/dns/wire/codes.ts'
import { nameText } from '../../../../src/node/dns/wire/name.ts'
import { reverseName } from '../../../../src/node/dns/wire/reverse-name.ts'
import { exampleServices, serviceRecords, TestZone } from '../../../helpers/dns-zone.ts'

const types = [
  ...[recordType.A, recordType.AAAA, recordType.SRV, recordType.CNAME, recordType.PTR, recordType.TXT],
  ...[recordType.NS, recordType.SOA, recordType.MX, recordType.HTTPS, recordType.ANY],
]

const zone = new TestZone().add(...exampleServices()).synced()
zone.zone.setNamespace('empty', true)
const names = treeOf(exampleServices().flatMap((view) => serviceRecords(view).names))

/** Every name of the fixture with each name above it, something missing beside and below each, and names of Pods. */
function treeOf(planned: readonly { readonly name: Buffer }[]): readonly string[] {
  const known = [
    ...planned.map(({ name }) => nameText(name)),
    ...['dns-version', 'ns.dns', 'empty.svc', 'empty.pod'].map((name) => `${name}.cluster.local.`),
    ...['10-1-2-3.data', '10-1-2-3.gone', '10-1-2.data', 'a-b-c-d.data', 'fd00--7.data', 'x.10-1-2-3.data'].map(
      (name) => `${name}.pod.cluster.local.`,
    ),
    ...['*.default.svc', 'any.default.svc', 'http.tcp.web.default.svc'].map((name) => `${name}.cluster.local.`),
    ...exampleServices().flatMap((view) =>
      [...serviceRecords(view).reverse.keys()].map((address) => nameText(reverseName(address))),
    ),
  ]
  const above = known.flatMap(ancestors)
  const existing = [...new Set([...known, ...above])]
  return [
    ...new Set([...existing, ...existing.filter((name) => !name.endsWith('ip6.arpa.')).map((name) => `nope.${name}`)]),
  ].sort((a, b) => (reversed(a) < reversed(b) ? -1 : 1))
}

function ancestors(name: string): string[] {
  const labels = name.split('.')
  return labels.slice(1, -2).map((_, index) => labels.slice(index + 1).join('.'))
}

function reversed(name: string): string {
  return name.split('.').reverse().join('.')
}

/** One line for all types that are answered alike, so that the file can be read. */
function describeName(name: string): string {
  const byAnswer = Map.groupBy(types, (type) => zone.line(name, type).replaceAll(name, '@'))
  const lines = Array.from(byAnswer, ([answer, asked]) => `  ${asked.map(typeName).join(' ')}: ${answer}`)
  return [name, ...lines].join('\n')
}

describe('the tree of names', () => {
  test('answers every name and type as the golden file says', () => {
    const file = new URL('./names.txt', import.meta.url)
    const text = `${names.map(describeName).join('\n')}\n`
    if (!existsSync(file)) writeFileSync(file, text)
    assert.equal(text, readFileSync(file, 'utf8'))
  })

  test('has flags and sections as the rcode wants them', () => {
    for (const name of names.filter((each) => zone.line(each, recordType.TXT).includes(' aa '))) {
      for (const type of types.filter((each) => zone.line(name, each) !== 'alias')) {
        const { flags, rcode: code, answer, authority } = zone.ask(name, type)
        assert.equal(flags & 0xfff0, flag.QR | flag.AA | flag.RD, name)
        assert.equal(authority.length, answer.length > 0 ? 0 : 1, `${name} ${typeName(type)}`)
        assert.ok(code === rcode.NOERROR || answer.length === 0, name)
      }
    }
  })

  test('has no name below one that does not exist', () => {
    const missing = names.filter((name) => zone.line(name, recordType.TXT).startsWith('NXDOMAIN'))
    assert.ok(missing.length > 20)
    for (const name of missing) {
      for (const below of names.filter((other) => other.endsWith(`.${name}`))) {
        assert.match(zone.line(below, recordType.A), /^NXDOMAIN/, `${below} below ${name}`)
      }
    }
  })

  test('ignores case, and answers in the case of the question', () => {
    for (const name of names) {
      const upper = zone.askRaw(name.toUpperCase(), recordType.A)
      const lower = zone.askRaw(name, recordType.A)
      if (typeof upper === 'string') assert.equal(upper, lower)
      else {
        const { question, answer } = zone.ask(name.toUpperCase(), recordType.A)
        assert.equal(nameText(question?.name ?? Buffer.of(0)), name.toUpperCase())
        for (const record of answer) assert.equal(nameText(record.name), name.toUpperCase())
      }
    }
  })
})
