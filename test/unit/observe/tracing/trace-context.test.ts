import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { formatTraceparent, parseTraceparent } from '../../../../src/observe/index.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = '00f067aa0ba902b7'

describe('A traceparent', () => {
  test('is read with its sampled flag, whatever other flags there are', () => {
    const read = (flags: string) => parseTraceparent(`00-${trace}-${span}-${flags}`)
    assert.deepEqual(read('01'), { traceId: trace, spanId: span, isSampled: true })
    assert.deepEqual(read('00'), { traceId: trace, spanId: span, isSampled: false })
    assert.equal(read('03')?.isSampled, true)
    assert.equal(read('fe')?.isSampled, false)
  })

  test('of a later version is read by its first four fields', () => {
    assert.equal(parseTraceparent(`01-${trace}-${span}-01`)?.spanId, span)
    assert.equal(parseTraceparent(`cc-${trace}-${span}-01-what-the-future-brings`)?.traceId, trace)
  })

  const hostile: Readonly<Record<string, string | string[] | undefined>> = {
    'that is absent': undefined,
    'that was sent twice': [`00-${trace}-${span}-01`, `00-${trace}-${span}-01`],
    'that is empty': '',
    'of version ff': `ff-${trace}-${span}-01`,
    'of version 00 with a fifth field': `00-${trace}-${span}-01-more`,
    'of a later version with text after the flags': `cc-${trace}-${span}-01more`,
    'with upper-case digits': `00-${trace.toUpperCase()}-${span}-01`,
    'with a trace ID of zeros': `00-${'0'.repeat(32)}-${span}-01`,
    'with a span ID of zeros': `00-${trace}-${'0'.repeat(16)}-01`,
    'with a short trace ID': `00-${trace.slice(1)}-${span}-01`,
    'with letters that are no digits': `00-${trace.slice(1)}g-${span}-01`,
    'with white space': ` 00-${trace}-${span}-01`,
    'with a line break': `00-${trace}-${span}-01\n`,
    'without end': `cc-${trace}-${span}-01-${'x'.repeat(100_000)}`,
    'that joins two by a comma': `00-${trace}-${span}-01,00-${trace}-${span}-01`,
  }
  for (const [what, value] of Object.entries(hostile))
    test(`${what} begins no trace`, () => assert.equal(parseTraceparent(value), undefined))

  test('is never made of any text but one that it is rendered to again', () => {
    const digits = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`))
    const near = fc.tuple(digits(2), digits(32), digits(16), digits(2)).map((parts) => parts.join('-'))
    fc.assert(
      fc.property(fc.oneof(fc.string(), near), (text) => {
        const context = parseTraceparent(text)
        if (context === undefined) return
        assert.deepEqual(parseTraceparent(formatTraceparent(context)), context)
      }),
    )
  })
})
