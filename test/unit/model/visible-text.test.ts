import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visibleColours, visibleLines, visibleText } from '../../../src/model/visible-text.ts'

test('control characters are shown by their code, and everything else stays', () => {
  const table = [
    ['plain, grün, 日本 🙂', 'plain, grün, 日本 🙂'],
    ['\u001b[31mred', '\\u001b[31mred'],
    ['a\u009b2J\u007f', 'a\\u009b2J\\u007f'],
    ['a\u202eb\u2066c\u200ed\ufeff', 'a\\u202eb\\u2066c\\u200ed\\ufeff'],
    ['a\r\tb\u0000', 'a\\u000d\\u0009b\\u0000'],
  ] as const
  for (const [text, visible] of table) {
    assert.equal(visibleText(text), visible)
    assert.equal(visibleLines(text), visible)
  }
  assert.equal(visibleText('a\nb'), 'a\\u000ab')
  assert.equal(visibleLines('a\nb\u2028'), 'a\nb\\u2028')
  assert.equal(visibleColours('\u001b[31ma\u009b\n'), '\u001b[31ma\\u009b\n')
})
