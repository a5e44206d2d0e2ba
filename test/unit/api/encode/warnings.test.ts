import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { renderWarnings } from '../../../../src/api/encode/warnings.ts'

describe('Warning headers', () => {
  test('quotes and backslashes are escaped, control characters are blanks, the rest is UTF-8', () => {
    assert.deepEqual(renderWarnings(['unknown field "a\\b"', 'two\nlines', 'ü']), [
      '299 - "unknown field \\"a\\\\b\\""',
      '299 - "two lines"',
      `299 - "${Buffer.from('ü').toString('latin1')}"`,
    ])
  })

  test('a repeated warning is sent once', () => {
    assert.deepEqual(renderWarnings(['a', 'b', 'a']), ['299 - "a"', '299 - "b"'])
  })

  test('above 4096 characters in all each is cut to 256, and what does not fit is left out', () => {
    const texts = Array.from({ length: 20 }, (_, index) => `${String(index).padStart(2, '0')}${'x'.repeat(400)}`)
    const rendered = renderWarnings(texts)
    assert.equal(rendered.length, 16)
    assert.ok(rendered.every((text) => text.length === '299 - ""'.length + 256))
    assert.equal(renderWarnings(texts.slice(0, 2))[0]?.length, '299 - ""'.length + 402)
  })
})
