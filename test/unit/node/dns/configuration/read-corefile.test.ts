import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defaultCorefile } from '../../../../../src/model/default-corefile.ts'
import { nameText } from '../../../../../src/node/dns/wire/name.ts'
import { assertRefused, blockOf, blocksOf } from '../../../../helpers/corefiles.ts'

function keysOf(text: string): string[] {
  return blocksOf(text).flatMap(({ keys }) => keys.map(({ zone, port }) => `${nameText(zone)}:${port}`))
}

describe('the grammar of a Corefile', () => {
  test('the built-in Corefile is the required one', () => {
    const [block] = blocksOf(defaultCorefile('cluster.local'))
    assert.ok(block)
    assert.deepEqual(keysOf(defaultCorefile('cluster.local')), ['.:53'])
    assert.equal(block.health?.lameduckMs, 5000)
    assert.deepEqual(
      [block.health?.listen, block.ready?.listen, block.prometheus?.listen],
      [{ port: 8080 }, { port: 8181 }, { port: 9153 }],
    )
    assert.deepEqual(
      block.kubernetes?.zones.map((zone) => nameText(zone)),
      ['cluster.local.', 'in-addr.arpa.', 'ip6.arpa.'],
    )
    assert.deepEqual([block.kubernetes?.ttl, block.kubernetes?.pods], [30, 'insecure'])
    assert.ok(Array.isArray(block.kubernetes?.fallthrough) && block.kubernetes.fallthrough.length === 2)
    assert.equal(block.forward[0]?.maxConcurrent, 1000)
    assert.deepEqual(block.forward[0]?.to, [{ kind: 'file', path: '/etc/resolv.conf' }])
    assert.deepEqual(
      [block.cache?.settings.success.maxTtlSeconds, block.cache?.settings.denial.maxTtlSeconds],
      [30, 30],
    )
    assert.deepEqual(block.reload, { intervalMs: 30_000, jitterMs: 15_000 })
    assert.equal(block.loop, true)
    assert.equal(block.loadbalance?.policy, 'round_robin')
  })

  for (const [what, text, keys] of [
    ['a zone alone has port 53', 'example.org {\n}', ['example.org.:53']],
    ['scheme and port', 'dns://Example.ORG:1053 {\n}', ['example.org.:1053']],
    ['a port alone is the root', ':5353 {\n}', ['.:5353']],
    ['several keys, by blank and by comma over lines', 'a b,\nc:54 {\n}', ['a.:53', 'b.:53', 'c.:54']],
    ['a network is its reverse zone', '10.0.0.0/24 {\n}', ['0.0.10.in-addr.arpa.:53']],
    [
      'a network between octets is several zones',
      '10.2.0.0/15 {\n}',
      ['2.10.in-addr.arpa.:53', '3.10.in-addr.arpa.:53'],
    ],
    ['an IPv6 network', 'fd00::/8 {\n}', ['d.f.ip6.arpa.:53']],
    ['the only block may go without braces', 'example.org\nerrors\nlog', ['example.org.:53']],
    ['two blocks', 'a {\n}\nb {\n}', ['a.:53', 'b.:53']],
    [
      'variables of the environment',
      '{$ZONE} {%ZONE%}:54 {$NONE} {\n {$PLUGIN}\n}',
      ['example.org.:53', 'example.org.:54'],
    ],
    ['comments, a byte order mark, CRLF', '\uFEFFa { # why\r\n  errors # because\r\n}\r\n# end', ['a.:53']],
    ['a snippet, twice in use', '(s) {\n errors\n}\na {\n import s\n}\nb {\n import s\n log\n}', ['a.:53', 'b.:53']],
    ['a file', 'a {\n import one.conf\n}', ['a.:53']],
    ['files by pattern, none among them', 'a {\n import one*\n import none*\n}', ['a.:53']],
    ['a block on one line', 'a { errors }', ['a.:53']],
  ] as const) {
    test(what, () => assert.deepEqual(keysOf(text), keys))
  }

  test('a snippet imported twice in a row is two lines of it', () => {
    const [block] = blocksOf('(s) {\n log a\n}\nb {\n import s\n import s\n}')
    assert.equal(block?.log.length, 2)
  })

  test('quotes hold blanks, lines, braces and quotes', () => {
    const [rule] = blockOf('log . "{remote} \\"{name}\\"\n}"').log
    assert.equal(rule?.format, '{remote} "{name}"\n}')
  })

  test('a comment inside of a word ends with the word', () => {
    assert.equal(blockOf('kubernetes {\n ttl 12#3 \n}').kubernetes?.ttl, 12)
  })

  test('a variable in an argument is replaced', () => {
    assert.equal(blockOf('kubernetes {\n ttl {$TTL}\n}').kubernetes?.ttl, 17)
  })

  for (const [text, code, message] of [
    ['', 'syntax', 'Corefile:1 - expected a server block, found none'],
    ['a {\n errors\n', 'syntax', 'Corefile:2 - Error during parsing: Unexpected end of file'],
    ['a {\n}\n}\n', 'syntax', 'Corefile:3 - '],
    ['{\n}', 'syntax', "Corefile:1 - Error during parsing: Expected an address before '{'"],
    ['a,\n{\n}', 'syntax', 'Corefile:2 - Error during parsing: Expected another address'],
    ['a {\n}\nb\nerrors', 'syntax', "Corefile:4 - Error during parsing: Expected '{' after b"],
    ['a {\n\n whoops\n}', 'unknown-directive', "Corefile:3 - Error during parsing: Unknown directive 'whoops'"],
    ['a {\n toString\n}', 'unknown-directive', 'Corefile:2 - '],
    [
      'a {\n forwrad . 192.0.2.1\n}',
      'unknown-directive',
      "Corefile:2 - Error during parsing: Unknown directive 'forwrad': expected one of bind, cache, errors, forward,",
    ],
    [
      'a {\n autopath @kubernetes\n}',
      'unknown-directive',
      "Corefile:2 - Error during parsing: Unknown directive 'autopath': this plugin of CoreDNS is not part of Platnet",
    ],
    ['import block.conf', 'unknown-directive', "/etc/block.conf:2 - Error during parsing: Unknown directive 'whoops'"],
    ['a {\n import none.conf\n}', 'import', 'Corefile:2 - import none.conf: there is no such snippet or file'],
    ['a {\n import self.conf\n}', 'import', '/etc/self.conf:1 - import self.conf: a file cannot import itself'],
    ['a {\n import\n}', 'syntax', 'Corefile:2 - '],
    ['a {\n import x y\n}', 'syntax', 'Corefile:2 - Error during parsing: import: expected one argument'],
    ['a {\n import x*y*z\n}', 'import', 'Corefile:2 - '],
    ['(s) {\n import s\n}\na {\n import s\n}', 'import', 'Corefile:2 - snippets import one another'],
    ['(s) {\n}\n(s) {\n}\na {\n}', 'syntax', 'Corefile:3 - Error during parsing: The snippet s is defined twice'],
    ['a {\n}\na {\n}', 'conflict', 'Corefile:3 - cannot serve dns://a.:53 - it is already defined in line 1'],
    ['tls://a {\n}', 'bad-value', 'Corefile:1 - tls://a: queries are served over UDP and TCP only'],
    ['gopher://a {\n}', 'bad-value', 'Corefile:1 - gopher://a: there is no such scheme'],
    ['a:99999 {\n}', 'bad-value', 'Corefile:1 - '],
    ['a..b {\n}', 'bad-value', 'Corefile:1 - a..b: expected a domain name'],
    ['a {\n errors\n errors\n}', 'conflict', 'Corefile:3 - errors: this plugin can only be used once per server block'],
  ] as const) {
    test(`refused with its line: ${JSON.stringify(text)}`, () => assertRefused(text, code, message))
  }

  test('blocks at different addresses may serve the same zone', () => {
    assert.equal(blocksOf('a {\n bind 127.0.0.1\n}\na {\n bind 127.0.0.2\n}').length, 2)
  })
})
