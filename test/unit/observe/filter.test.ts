import assert from 'node:assert/strict'
import { test } from 'node:test'
import { directivesFor, type FilterLevel, parseFilter, widestLevel } from '../../../src/observe/filter.ts'

/** The level at which records without fields of a target are written. */
function levelOf(text: string, target: string): FilterLevel {
  const { filter } = parseFilter(text)
  return widestLevel(directivesFor(filter, target).filter(({ fields }) => fields.length === 0))
}

const cases: readonly (readonly [text: string, target: string, level: FilterLevel])[] = [
  ['debug', 'platform_dns', 'debug'],
  ['DeBuG', 'platform_dns', 'debug'],
  ['0', 'a', 'off'],
  ['1', 'a', 'error'],
  ['5', 'a', 'trace'],
  ['info,net=off', 'net', 'off'],
  ['info,net=off', 'net::arp', 'off'],
  ['info,net=off', 'dns', 'info'],
  ['warn,a::b=debug', 'a::b::c', 'debug'],
  ['warn,a::b=debug', 'a::c', 'warn'],
  ['a::b=debug,a=error', 'a::b', 'debug'],
  ['foo', 'foo', 'trace'],
  ['foo=', 'foo::bar', 'trace'],
  ['foo=info', 'foobar', 'info'],
  ['foo=info', 'bar', 'off'],
  ['6', '6', 'trace'],
  ['info,debug', 'a', 'debug'],
  ['a=info,a=warn', 'a', 'warn'],
  ['warn, info', 'a', 'info'],
  [' a = debug , warn', 'a', 'debug'],
  [',,info,,', 'a', 'info'],
  ['-x:_=debug', '-x:_', 'debug'],
  ['', 'a', 'error'],
  ['a=loud', 'a', 'error'],
  ['[{request}]=debug,info', 'a', 'info'],
]

for (const [text, target, level] of cases) {
  test(`The filter "${text}" writes ${target} at ${level}.`, () => assert.equal(levelOf(text, target), level))
}

test('Field names restrict a directive, in braces that may hold commas.', () => {
  assert.deepEqual(parseFilter('a[{y, x,}]=debug,info'), {
    filter: [
      { target: 'a', fields: ['x', 'y'], level: 'debug' },
      { target: '', fields: [], level: 'info' },
    ],
    problems: [],
  })
})

test('A target with fields comes before the same target without, and a longer target before both.', () => {
  const { filter } = parseFilter('a=error,ab=warn,a[{x}]=info')
  assert.deepEqual(
    filter.map(({ level }) => level),
    ['warn', 'info', 'error'],
  )
})

const badDirectives: readonly (readonly [text: string, reason: RegExp])[] = [
  ['a=loud', /^expected a level: off, error/],
  ['a=6', /^expected a level/],
  ['a=b=c', /^expected a level/],
  ['=info', /^expected a target before/],
  ['/x=info', /begins with a letter or digit/],
  ['a[{b=info', /^expected target\[span/],
  ['a[b]c=info', /^expected target\[span/],
  ['[sync]=debug', /records no spans/],
  ['[sync{id}]=debug', /records no spans/],
  ['[{id=1}]=debug', /values of fields/],
]

for (const [text, reason] of badDirectives) {
  test(`The directive "${text}" is named and ignored, and the rest stays.`, () => {
    const { filter, problems } = parseFilter(`warn,${text},dns=debug`)
    assert.deepEqual(filter, [
      { target: 'dns', fields: [], level: 'debug' },
      { target: '', fields: [], level: 'warn' },
    ])
    assert.equal(problems.length, 1)
    assert.equal(problems[0]?.directive, text)
    assert.match(problems[0]?.reason ?? '', reason)
  })
}
