import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkSchemaRules } from '../../../../src/api/cel/check-definition.ts'
import { RuleChecker } from '../../../../src/api/cel/check-rules.ts'
import { parseSchema } from '../../../../src/api/schema/parse-schema.ts'
import type { Json, JsonObject } from '../../../../src/model/api-object.ts'
import { refusedRules } from '../../../helpers/broken-rules.ts'
import { threadCpuMs } from '../../../helpers/growth.ts'
import { routeCases } from '../../../helpers/route-cases.ts'
import { answerCases, everythingSchema, expressionCases } from '../../../helpers/rule-cases.ts'
import { transitionCases } from '../../../helpers/transition-cases.ts'

function schemaOf(raw: JsonObject) {
  const { schema, errors } = parseSchema(raw, 'S')
  assert.deepEqual(errors, [])
  return schema
}

async function check(raw: JsonObject, value: Json, old?: Json): Promise<readonly string[]> {
  const errors = await new RuleChecker(schemaOf({ type: 'object', properties: { c: raw } })).check(
    { c: value },
    old === undefined ? undefined : { c: old },
  )
  return errors.map(({ field, message }) => `${field}: ${message}`)
}

/** The rules of the table that do not hold for its value, as kube-apiserver 1.34 has it. */
const failing = new Map<string, RegExp>([
  ['self.n > 5', /^c: Invalid value: "object": failed rule: self.n > 5$/],
  ['!self.b', /failed rule/],
  ["self.s != 'abc'", /failed rule/],
  ['self.s.matches("x")', /failed rule/],
  ['self.l[7] == "b"', /index out of bounds: 7 evaluating rule/],
  ['self.l.isSorted()', /failed rule/],
  ['has(self.lo[9].name)', /index out of bounds: 9 evaluating rule/],
  ['self.map["zz"] == "v"', /no such key: zz evaluating rule/],
  ['self.ios == 5', /failed rule/],
  ['self.ios > 3', /'no such overload': call arguments did not match a supported operator/],
  ['has(self.nul)', /failed rule/],
  ['self.n == 0 || 10 / (self.n - 5) > 1', /division by zero evaluating rule/],
  ['false && self.l[9] == "x"', /failed rule/],
  ['dyn(self.n) == "5"', /failed rule/],
  ['int(self.s) == 7', /type conversion error from 'string' to 'int'/],
  ['sign(quantity("x")) == 1', /quantities must match the regular expression/],
  ['self.l == ["a", "b", "c"]', /failed rule/],
  ['has(self.o.a) && !has(self.o.b)', /failed rule/],
  ['["a", "b"] == self.set', /failed rule/],
  ['[self.keyed[1], self.keyed[0]] == self.keyed', /failed rule/],
  ['self.wide.substring(5) == ""', /index out of range: 5 evaluating rule/],
  ['self.wide.charAt(5) == ""', /index out of range: 5 evaluating rule/],
  ['self.wide < "a\\uffff"', /failed rule/],
  ['self.nulls[1] == null', /found no matching overload for '_==_' applied to '\(string, null\)'/],
  ['self.nulls[1].size() == 0', /'no such overload: size': call arguments/],
  ['self.nullmap.b > 1', /'no such overload: _>_': call arguments/],
  ['has(self.nulobject)', /failed rule/],
  ['self.nulobject == null', /no such key: nulobject evaluating rule/],
  ['self.?nul.hasValue()', /failed rule/],
  ['dyn(1).sum() == 1', /'no such overload: sum\(int\)': call arguments/],
  ['dyn(1).startsWith("a")', /'no such overload': call arguments/],
  ['ip(self.nulls[1]).family() == 4', /'no such overload: ip\(null_type\)': call arguments/],
  ['sign(quantity("1e")) == 0', /unable to parse quantity's suffix evaluating rule/],
  ['ip("1.2.3").family() == 4', /ParseAddr\("1\.2\.3"\): IPv4 address too short evaluating rule/],
  ['self.map[self.nulls[1]] == "x"', /invalid qualifier type: types\.Null evaluating rule/],
  ['(self.b ? has(self.?o.a) : has(self.?o.b)) == true', /failed rule/],
  ['self.nulls.join() == "a"', /join: invalid input: 0 evaluating rule/],
])

describe('a rule gives what kube-apiserver gives', () => {
  for (const { title, schema, values } of expressionCases) {
    test(title, async () => {
      if (title === '"x".matches("(")') return
      for (const value of values) {
        const [error, ...more] = await check(schema, value)
        assert.deepEqual(more, [])
        const expected = failing.get(title)
        if (expected === undefined) assert.equal(error, undefined)
        else assert.match(error ?? 'no error', expected)
      }
    })
  }
})

/** What is taken although it looks wrong. */
const taken = new Set<string | JsonObject>([
  'self.namespace == "ns"',
  'true',
  ...refusedRules.filter((rule) => {
    const { fieldPath, messageExpression, optionalOldSelf } = typeof rule === 'string' ? {} : rule
    return (
      fieldPath === '.o.a' ||
      fieldPath === ".map['k']" ||
      messageExpression === '"s is " + self.s' ||
      (optionalOldSelf === true && typeof rule !== 'string' && String(rule['rule']).includes('oldSelf'))
    )
  }),
  ...refusedRules.filter((rule) => typeof rule !== 'string' && rule['rule'] === 'oldSelf.n == self.n'),
])

describe('a definition with a rule that cannot hold is refused', () => {
  for (const rule of refusedRules) {
    test(JSON.stringify(rule), () => {
      const raw = {
        type: 'object',
        properties: everythingSchema,
        'x-kubernetes-validations': [typeof rule === 'string' ? { rule } : rule],
      }
      const errors = checkSchemaRules(schemaOf({ type: 'object', properties: { spec: raw } }), 'S')
      assert.equal(errors.length > 0, !taken.has(rule), JSON.stringify(errors))
      for (const { field } of errors) assert.match(field, /^S\.properties\[spec\]\.x-kubernetes-validations\[0\]\./)
    })
  }

  test('with the place and the words of cel-go', () => {
    const raw = {
      type: 'object',
      properties: { a: { type: 'integer' } },
      'x-kubernetes-validations': [{ rule: 'self.b == 1' }],
    }
    const [error] = checkSchemaRules(schemaOf(raw), 'S')
    assert.equal(error?.field, 'S.x-kubernetes-validations[0].rule')
    assert.ok(
      error?.message.endsWith("compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 1\n | ....^"),
      error?.message,
    )
  })

  test('that compares with old values inside a list whose items cannot be correlated', () => {
    const rule = { 'x-platform-validations': [{ rule: 'self == oldSelf' }] }
    const list = (more: JsonObject) => {
      return {
        type: 'object',
        properties: {
          l: {
            type: 'array',
            ...more,
            items: { type: 'object', required: ['k'], properties: { k: { type: 'string' } }, ...rule },
          },
        },
      }
    }
    const atomic = checkSchemaRules(schemaOf(list({})), 'S')
    assert.deepEqual(
      atomic.map(({ field }) => field),
      ['S.properties[l].items.x-platform-validations[0].rule'],
    )
    assert.match(
      atomic[0]?.message ?? '',
      /oldSelf cannot be used on the uncorrelatable portion of the schema within S\.properties\[l\]$/,
    )
    const map = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] }
    assert.deepEqual(checkSchemaRules(schemaOf(list(map)), 'S'), [])
  })
})

test('a failed rule has its message, its reason and its field', async () => {
  const [{ schema = {}, values = [] } = {}] = answerCases
  assert.deepEqual(await check(schema, values[0] ?? null), [
    'c.a: Invalid value: "object": must be above 0',
    'c: Forbidden: forbidden',
    'c.labels[x]: Required value: required',
    'c: Duplicate value: "object"',
    'c: Invalid value: "object": t is x',
    'c: Invalid value: "object": fixed',
    'c: Invalid value: "object": failed rule: self.a > 6',
  ])
})

describe('rules as published definitions have them', () => {
  const broken: Readonly<Record<string, readonly number[]>> = {
    'parents that differ by their section': [0, 1, 1, 0],
    'filters of a rule': [0, 2, 0, 1, 1],
    'one of several, and times of a certificate': [0, 1, 3, 1, 1],
  }
  for (const { title, schema, values } of routeCases) {
    test(title, async () => {
      const counts = []
      for (const value of values) counts.push((await check(schema, value)).length)
      assert.deepEqual(counts, broken[title])
    })
  }
})

describe('rules that compare with the old value', () => {
  const expected: Readonly<Record<string, readonly boolean[]>> = {
    'a value that may not change': [true, false, true, true],
    'items of a list by keys': [true, false, true],
    'an optional old value': [true, false, true, true],
  }
  for (const { title, schema, steps } of transitionCases) {
    test(title, async () => {
      const results = []
      for (const [old, next] of steps) results.push((await check(schema, next, old)).length === 0)
      assert.deepEqual(results, expected[title])
    })
  }

  test('a rule of a value that did not change is not asked again', async () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > 5' }] },
        b: { type: 'integer' },
      },
    }
    assert.equal((await check(schema, { a: 1 })).length, 1)
    assert.equal((await check(schema, { a: 1, b: 2 }, { a: 1 })).length, 0)
    assert.equal((await check(schema, { a: 2 }, { a: 1 })).length, 1)
  })
})

describe('costs', () => {
  const items = { type: 'array', items: { type: 'integer' } }
  const rule = (text: string) => ({
    type: 'object',
    properties: { l: items, s: { type: 'string' } },
    'x-kubernetes-validations': [{ rule: text }],
  })
  const list = Array.from({ length: 2_000 }, (_, index) => index)

  const tooCostly: readonly (readonly [rule: string, value: Json])[] = [
    ['self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))', { l: list }],
    ['true || self.l.all(x, self.l.all(y, x != y - 5000)) || self.l.all(x, self.l.all(y, x != y - 5000))', { l: list }],
    ['self.l.all(x, self.l.exists(y, false) || self.l.all(y, x + y >= 0))', { l: list }],
    ['self.l.all(x, x in self.l)', { l: list }],
    ['self.l.all(x, self.l == self.l.filter(y, true))', { l: list }],
    ['self.l.all(x, self.s.matches("^(a|aa)+$"))', { l: list, s: 'a'.repeat(50_000) }],
    ['self.l.map(x, self.l).map(y, y + y + y + y).size() > 0', { l: list }],
    ['sets.contains(self.l, self.l.map(x, x)) && sets.equivalent(self.l.map(x, x * 3), self.l)', { l: list }],
  ]
  for (const [text, value] of tooCostly.filter(([each]) => !each.startsWith('true'))) {
    test(`${text} ends at its budget`, async () => {
      const checker = new RuleChecker(schemaOf(rule(text)))
      const cpu = process.threadCpuUsage()
      const errors = await checker.check(value, undefined)
      const usedMs = process.threadCpuUsage(cpu).user / 1000
      assert.match(errors[0]?.message ?? 'no error', /operation cancelled: actual cost limit exceeded/)
      assert.ok(usedMs < 2_000, `${usedMs} ms`)
    })
  }

  test('one object pays for all its rules, and the rest is not checked', async () => {
    const validations = Array.from({ length: 100 }, () => ({
      rule: 'self.l.all(x, self.l.filter(y, y > x).size() >= 0)',
    }))
    const schema = schemaOf({ ...rule('true'), 'x-kubernetes-validations': validations })
    const value = { l: list.slice(0, 250) }
    const errors = await new RuleChecker(schema).check(value, undefined)
    assert.deepEqual(
      errors.map(({ message }) => message.replace(/^.*?: .*?: /, '')),
      ['validation failed due to running out of cost budget, no further validation rules will be run'],
    )
  })

  test('other work goes on between two rules', async () => {
    const validations = Array.from({ length: 40 }, () => ({ rule: 'self.l.all(x, self.l.all(y, x + y >= 0))' }))
    const schema = schemaOf({ ...rule('true'), 'x-kubernetes-validations': validations })
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    assert.deepEqual(await new RuleChecker(schema).check({ l: list.slice(0, 150) }, undefined), [])
    clearInterval(timer)
    assert.ok(turns > 3, `${turns} turns`)
  })

  test('a schema of thousands of types is compiled in proportion', () => {
    const branch = (count: number): JsonObject => ({
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          `p${index}`,
          { type: 'object', properties: { a: { type: 'integer' } } },
        ]),
      ),
      'x-kubernetes-validations': [{ rule: 'has(self.p1)' }],
    })
    const usedMs = threadCpuMs(() => assert.deepEqual(checkSchemaRules(schemaOf(branch(4_000)), 'S'), []))
    assert.ok(usedMs < 3_000, `${usedMs} ms`)
  })
})
