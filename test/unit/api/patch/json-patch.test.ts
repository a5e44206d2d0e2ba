import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { applyJsonPatch } from '../../../../src/api/patch/json-patch.ts'
import { PatchError } from '../../../../src/api/patch/json-pointer.ts'
import type { Json } from '../../../../src/model/api-object.ts'

type Applied = readonly [title: string, document: Json, patch: Json, expected: Json]
type Refused = readonly [title: string, document: Json, patch: Json, code: PatchError['code']]

const add = (path: string, value: Json): Json => ({ op: 'add', path, value })
const remove = (path: string): Json => ({ op: 'remove', path })
const replace = (path: string, value: Json): Json => ({ op: 'replace', path, value })
const move = (from: string, path: string): Json => ({ op: 'move', from, path })
const copy = (from: string, path: string): Json => ({ op: 'copy', from, path })
const equals = (path: string, value: Json): Json => ({ op: 'test', path, value })

/** RFC 6902 section 4 and appendix A, RFC 6901 section 5. */
const applied: readonly Applied[] = [
  ['no operation', { a: 1 }, [], { a: 1 }],
  ['A.1 adding a member', { foo: 'bar' }, [add('/baz', 'qux')], { baz: 'qux', foo: 'bar' }],
  ['A.2 adding an element', { foo: ['bar', 'baz'] }, [add('/foo/1', 'qux')], { foo: ['bar', 'qux', 'baz'] }],
  ['A.3 removing a member', { baz: 'qux', foo: 'bar' }, [remove('/baz')], { foo: 'bar' }],
  ['A.4 removing an element', { foo: ['a', 'b', 'c'] }, [remove('/foo/1')], { foo: ['a', 'c'] }],
  ['A.5 replacing a value', { baz: 'qux' }, [replace('/baz', 'boo')], { baz: 'boo' }],
  ['A.6 moving a value', { a: { w: 1, x: 2 }, b: {} }, [move('/a/w', '/b/t')], { a: { x: 2 }, b: { t: 1 } }],
  [
    'A.7 moving an element',
    { foo: ['all', 'grass', 'cows', 'eat'] },
    [move('/foo/1', '/foo/3')],
    { foo: ['all', 'cows', 'eat', 'grass'] },
  ],
  [
    'A.8 testing values',
    { baz: 'qux', foo: ['a', 2] },
    [equals('/baz', 'qux'), equals('/foo/1', 2)],
    { baz: 'qux', foo: ['a', 2] },
  ],
  ['A.10 adding a nested member', { foo: 'bar' }, [add('/child', { grand: {} })], { foo: 'bar', child: { grand: {} } }],
  [
    'A.11 members it does not know',
    { foo: 'bar' },
    [{ op: 'add', path: '/baz', value: 'qux', xyz: 123 }],
    { foo: 'bar', baz: 'qux' },
  ],
  ['A.14 ~ escapes', { '/': 9, '~1': 10 }, [equals('/~01', 10), equals('/~1', 9)], { '/': 9, '~1': 10 }],
  ['A.16 adding an array', { foo: ['bar'] }, [add('/foo/-', ['abc', 'def'])], { foo: ['bar', ['abc', 'def']] }],
  ['adding replaces a member', { a: 1 }, [add('/a', 2)], { a: 2 }],
  ['adding at the end by its index', [1, 2], [add('/2', 3)], [1, 2, 3]],
  ['adding at the start', [1, 2], [add('/0', 0)], [0, 1, 2]],
  ['adding null', {}, [add('/a', null)], { a: null }],
  ['a name that is a number in an object', { 0: 'a' }, [replace('/0', 'b'), add('/01', 'c')], { 0: 'b', '01': 'c' }],
  ['the empty name', { '': 1 }, [replace('/', 2)], { '': 2 }],
  ['the empty name below', { a: { '': 1 } }, [remove('/a/')], { a: {} }],
  ['a name of dash in an object', {}, [add('/-', 1)], { '-': 1 }],
  [
    'names with blanks, quotes and signs',
    { 'm n': 1, 'a"b': 2, 'c%d': 3 },
    [remove('/m n'), remove('/a"b'), remove('/c%d')],
    {},
  ],
  ['~01 is ~1, not a slash', { '~1': 1 }, [replace('/~01', 2)], { '~1': 2 }],
  ['replacing the root', { a: 1 }, [replace('', { b: 2 })], { b: 2 }],
  ['adding at the root replaces it', { a: 1 }, [add('', [1])], [1]],
  ['moving something to the root', { a: { b: 1 } }, [move('/a', '')], { b: 1 }],
  ['copying the root into itself', { a: 1 }, [copy('', '/b')], { a: 1, b: { a: 1 } }],
  ['testing the root', { a: [1, { b: null }] }, [equals('', { a: [1, { b: null }] })], { a: [1, { b: null }] }],
  ['moving onto itself', { a: 1 }, [move('/a', '/a')], { a: 1 }],
  ['moving replaces', { a: 1, b: 2 }, [move('/a', '/b')], { b: 1 }],
  ['copying replaces', { a: 1, b: 2 }, [copy('/a', '/b')], { a: 1, b: 1 }],
  ['a copy is its own', { a: { x: 1 } }, [copy('/a', '/b'), replace('/b/x', 2)], { a: { x: 1 }, b: { x: 2 } }],
  ['copying into an array', [1, 2], [copy('/0', '/-')], [1, 2, 1]],
  ['objects are equal in any order', { a: { x: 1, y: 2 } }, [equals('/a', { y: 2, x: 1 })], { a: { x: 1, y: 2 } }],
  ['numbers are equal by value', { a: 1 }, [equals('/a', 1.0)], { a: 1 }],
  ['testing null', { a: null }, [equals('/a', null)], { a: null }],
  ['replacing null', { a: null }, [replace('/a', 1)], { a: 1 }],
  ['later operations see earlier ones', {}, [add('/a', {}), add('/a/b', 1), move('/a/b', '/c')], { a: {}, c: 1 }],
  ['a prototype is a name', {}, [add('/__proto__', 1)], JSON.parse('{"__proto__":1}') as Json],
]

const refused: readonly Refused[] = [
  ['A.9 a test that fails', { baz: 'qux' }, [equals('/baz', 'bar')], 'failed'],
  ['A.12 adding below what is not there', { foo: 'bar' }, [add('/baz/bat', 'qux')], 'failed'],
  ['A.15 a string is not a number', { '~1': 10 }, [equals('/~01', '10')], 'failed'],
  ['adding behind the end', [1], [add('/2', 3)], 'failed'],
  ['a negative index', [1], [remove('/-1')], 'failed'],
  ['an index with a zero in front', [1, 2], [replace('/01', 3)], 'failed'],
  ['an index that is no number', [1], [add('/1e0', 3)], 'failed'],
  ['an index beyond any array', [1], [remove('/99999999999999999999')], 'failed'],
  ['a name in an array', [1], [add('/name', 3)], 'failed'],
  ['dash names nothing that is there', [1], [remove('/-')], 'failed'],
  ['replacing at dash', [1], [replace('/-', 2)], 'failed'],
  ['testing at dash', [1], [equals('/-', 1)], 'failed'],
  ['removing what is not there', {}, [remove('/a')], 'failed'],
  ['removing the root', {}, [remove('')], 'failed'],
  ['replacing what is not there', {}, [replace('/a', 1)], 'failed'],
  ['testing what is not there', {}, [equals('/a', null)], 'failed'],
  ['moving what is not there', {}, [move('/a', '/b')], 'failed'],
  ['copying what is not there', {}, [copy('/a', '/b')], 'failed'],
  ['moving into itself', { a: { b: {} } }, [move('/a', '/a/b/c')], 'failed'],
  ['going through a text', { a: 'text' }, [add('/a/0', 'x')], 'failed'],
  ['going through null', { a: null }, [add('/a/b', 1)], 'failed'],
  ['what every object inherits is not there', {}, [copy('/constructor', '/a')], 'failed'],
  ['the length of an array is no element', [1], [copy('/length', '/-')], 'failed'],
  ['an array is not an object', { a: [] }, [equals('/a', {})], 'failed'],
  ['a longer array', [1, 2], [equals('', [1])], 'failed'],
  ['a patch that is no array', {}, { op: 'add', path: '/a', value: 1 }, 'malformed'],
  ['an operation that is no object', {}, ['add'], 'malformed'],
  ['no op', {}, [{ path: '/a', value: 1 }], 'malformed'],
  ['an unknown op', {}, [{ op: 'spam', path: '/a', value: 1 }], 'malformed'],
  ['an op in capitals', {}, [{ op: 'ADD', path: '/a', value: 1 }], 'malformed'],
  ['no path', {}, [{ op: 'add', value: 1 }], 'malformed'],
  ['a path that is null', {}, [{ op: 'add', path: null, value: 1 }], 'malformed'],
  ['a path without its slash', {}, [add('a', 1)], 'malformed'],
  ['a path with a wrong escape', {}, [add('/~2', 1)], 'malformed'],
  ['a path that ends in ~', {}, [add('/a~', 1)], 'malformed'],
  ['add without a value', {}, [{ op: 'add', path: '/a' }], 'malformed'],
  ['replace without a value', { a: 1 }, [{ op: 'replace', path: '/a' }], 'malformed'],
  ['test without a value', { a: 1 }, [{ op: 'test', path: '/a' }], 'malformed'],
  ['move without from', { a: 1 }, [{ op: 'move', path: '/a' }], 'malformed'],
  ['copy with a from that is no pointer', { a: 1 }, [copy('a', '/b')], 'malformed'],
  ['too many operations', {}, Array.from({ length: 10_001 }, () => add('/a', 1)), 'too-large'],
  [
    'a copy that doubles',
    { a: 'x'.repeat(1_000) },
    Array.from({ length: 13 }, (_, index) => copy('', `/b${index}`)),
    'too-large',
  ],
]

describe('JSON patch (RFC 6902)', () => {
  for (const [title, document, patch, expected] of applied) {
    test(title, () => {
      const before = JSON.stringify(document)
      assert.deepEqual(applyJsonPatch(document, patch), expected)
      assert.equal(JSON.stringify(document), before, 'the document itself is left alone')
    })
  }
  for (const [title, document, patch, code] of refused) {
    test(`${title} is refused`, () => {
      const before = JSON.stringify(document)
      assert.throws(
        () => applyJsonPatch(document, patch),
        (thrown) => thrown instanceof PatchError && thrown.code === code,
      )
      assert.equal(JSON.stringify(document), before)
    })
  }
})
