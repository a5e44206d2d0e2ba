import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Backend, HostRoutes, Route, RoutingTable } from '../../../../src/model/routing-table.ts'
import { renderFiles } from '../../../../src/node/ingress/haproxy/config.ts'
import { diffTable } from '../../../../src/node/ingress/haproxy/diff.ts'
import { holdTable } from '../../../../src/node/ingress/haproxy/hold-table.ts'
import { haproxySettings } from '../../../helpers/haproxy-settings.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'

const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(
    'a b',
    'a\nb',
    'a\n\nquit',
    'a;quit',
    'x <<',
    '"',
    "'",
    '#',
    '\\',
    '\0',
    '|',
    'é',
    'a\tb',
    '%[env(X)]',
  ),
)
const text = fc.oneof(hostile, fc.constantFrom('a.example.com', '*.example.com', '/pay', '/pay/card', 'default/web'))

function hostileTable(names: readonly string[]): RoutingTable {
  const at = (index: number) => names[index % names.length] ?? ''
  const route = (index: number): Route => ({
    ingress: at(index),
    backend: at(index + 1),
    path: at(index + 2),
    kind: 'exact',
  })
  const routes: HostRoutes = {
    exact: new Map([
      [at(2), route(0)],
      [`/${at(3)}`, route(1)],
    ]),
    prefix: new Map([
      [at(4), route(2)],
      ['', route(3)],
    ]),
    longestPrefix: 99,
    fallback: route(4),
  }
  const backends = names.map((id): [string, Backend] => [
    id,
    {
      id,
      service: at(1),
      port: at(2),
      endpoints: [],
      balance: 'round-robin',
      protocol: 'http1',
      stickiness: { cookie: at(3) },
    },
  ])
  const certificate = {
    secret: at(0),
    hosts: [at(1)],
    fingerprint: at(2),
    chainPem: at(3),
    keyPem: at(4),
    notAfterMs: 0,
  }
  return {
    hosts: new Map(names.map((name) => [name, routes])),
    backends: new Map(backends),
    certificates: [certificate],
  }
}

/** Every line that a table without foreign text gives, and the shape of those that hold names. */
const mapLine = /^[!-~]+ (?:[!-~]+)$/
const configLine = /^(?: {2})?[ -~]+$/

test('No text from outside breaks a line of a configuration, a map or a list', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 5, maxLength: 9 }), (names) => {
      const table = hostileTable(names)
      const { holding } = holdTable(table)
      for (const [file, content] of renderFiles(haproxySettings, { holding, generation: 1 }, table.certificates)) {
        const shape = file.endsWith('.map') || file.endsWith('.list') ? mapLine : configLine
        for (const line of content.split('\n'))
          assert.ok(line === '' || shape.test(line), `${file}: ${JSON.stringify(line)}`)
        if (file === 'haproxy.cfg') assertKnownLines(content)
      }
    }),
  )
})

test('No text from outside breaks a command or ends its payload', () => {
  fc.assert(
    fc.property(
      fc.array(text, { minLength: 5, maxLength: 9 }),
      fc.array(text, { minLength: 5, maxLength: 9 }),
      (one, other) => {
        const held = holdTable(hostileTable(one)).holding
        const difference = diffTable(held, hostileTable(other), { maxCommandBytes: 16_000 })
        if (difference.kind === 'reload') return
        for (const command of difference.commands) {
          const [head = '', ...payload] = command.text.split('\n')
          assert.match(
            head,
            /^(?:(?:add|set|del|prepare|commit) (?:map|server)|(?:new|set|commit|del|add) ssl) [!-~ ]+$/,
          )
          assert.ok(head.endsWith('<<') || payload.length === 0, command.text)
          assert.doesNotMatch(head.replace(/\\./g, '').replace(/<<$/, ''), /;|<</)
          for (const line of payload.slice(0, -1)) assert.match(line, /^[ -~]+$/)
        }
      },
    ),
  )
})

/** The words with which a line of the configuration begins are those of a table without foreign text. */
function assertKnownLines(content: string): void {
  for (const line of content.split('\n')) assert.ok(knownWords.has(wordsOf(line)), line)
}

const wordsOf = (line: string) => line.trimStart().split(' ', 1)[0] ?? ''
const plain = holdTable(routingTable({ 'a.example.com': { prefix: ['/'] } })).holding
const knownWords = new Set(
  (renderFiles(haproxySettings, { holding: plain, generation: 1 }, []).get('haproxy.cfg') ?? '')
    .split('\n')
    .map(wordsOf),
).union(new Set(['cookie', 'dynamic-cookie-key']))
