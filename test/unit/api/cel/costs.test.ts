import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkSchemaRules } from '../../../../src/api/cel/check-definition.ts'
import { RuleChecker } from '../../../../src/api/cel/check-rules.ts'
import { compileRules } from '../../../../src/api/cel/compile-rules.ts'
import { CostMeter } from '../../../../src/api/cel/values/cost-meter.ts'
import { ValueReader } from '../../../../src/api/cel/values/read-value.ts'
import { parseSchema } from '../../../../src/api/schema/parse-schema.ts'
import type { Schema } from '../../../../src/api/schema/schema.ts'
import type { JsonObject } from '../../../../src/model/api-object.ts'
import { expressionCases } from '../../../helpers/rule-cases.ts'
import { costCases } from '../../../helpers/rule-cost-cases.ts'

function schemaOf(raw: JsonObject): Schema {
  return parseSchema({ type: 'object', properties: { spec: raw } }, 'S').schema
}

function compiled(raw: JsonObject) {
  const node = compileRules(schemaOf(raw), () => true)?.properties.get('spec')
  const program = node?.rules[0]?.program
  assert.ok(node !== undefined && program !== undefined)
  return { node, program }
}

function refusals(raw: JsonObject): readonly string[] {
  return checkSchemaRules(schemaOf(raw), 'S').map(({ field, message }) => `${field}: ${message}`)
}

const bounds = 'lists of 100, texts of 100'

/** What kube-apiserver 1.34 estimates, in a schema whose lists and maps have 100 items and whose texts have 100 characters at most. */
const estimates: readonly (readonly [rule: string, cost: number])[] = [
  ['self.l.all(x, x.startsWith("a"))', 503],
  ['self.l.all(x, self.l.exists(y, x == y))', 460_603],
  ['self.l.all(x, self.l.all(y, self.l.exists(z, x + y == z)))', 127_060_603],
  ['self.l.all(x, x.matches("^[a-z]{1,63}$"))', 16_803],
  ['self.l.exists_one(x, x == self.s)', 4_504],
  ['self.lo.all(o, o.parts.all(p, p.size() < 5 && o.name.contains(p)))', 64_360_603],
  ['self.lo.map(o, o.name) == self.l', 1_425],
  ['self.m.all(k, self.m[k] != self.s && k in self.l)', 15_203],
  ['self.m.exists(k, v, v == k)', 603],
  ['self.m.transformList(k, v, k + v).size() > 3', 5_415],
  ['self.s == self.s.replace("a", "b") || self.s.split(",").all(x, x.size() < 5)', 2_607],
  ['self.s.find("[0-9]+") == "1" || self.s.findAll("x", 3).size() == 2', 130],
  ['self.s.contains(self.s) && self.s.lowerAscii() < self.s.trim()', 1_728],
  ['sets.contains(self.l, self.l) && sets.equivalent(self.l, ["a"])', 10_218],
  ['self.ios == "a" || self.ios > 3', 6],
  ['self.l.isSorted() && self.l.indexOf("x") == 1', 8_205],
  ['quantity(self.s).isGreaterThan(quantity("1")) || isIP(self.s) || url(self.s).getHost() == self.s', 171],
  ['cidr(self.s).containsIP(self.s) && !format.dns1123Label().validate(self.s).hasValue()', 1_373],
  ['has(self.lo) ? self.lo.size() == 3 : self.l.size() == 3', 5],
  ['self.t < timestamp(self.s) && self.d == duration(self.s)', 12],
]

describe('a rule is estimated to cost what Kubernetes says', () => {
  for (const [rule, cost] of estimates) {
    test(rule, () => {
      const found = costCases.find(({ title }) => title === `${rule} with ${bounds}`)
      assert.equal(compiled(found?.schema ?? {}).program.maxCost(), cost)
    })
  }
})

/** What an evaluation costs in kube-apiserver 1.34, for the value of the table. */
const costs: readonly (readonly [rule: string, cost: number])[] = [
  ['self.n * 2 - 1 == 9 && self.n / 2 == 2 && self.n % 2 == 1', 13],
  ['"%s is %d".format([self.s, self.n]) == "abc is 5"', 16],
  ['"%s %s".format([self.s, self.s]) == "abc abc"', 16],
  ['"%.2f".format([self.d]) == "1.50"', 14],
  ['"%s".format([self.l]) == "[\\"b\\", \\"a\\", \\"c\\"]"', 15],
  ['self.l.exists(x, x == "a")', 18],
  ['self.l.all(x, x.size() == 1)', 21],
  ['self.l.filter(x, x != "a") == ["b", "c"]', 36],
  ['self.l.map(x, x + "!") == ["b!", "a!", "c!"]', 46],
  ['self.l.map(x, x != "a", x.size()) == [1, 1]', 38],
  ['self.l.sort() == ["a", "b", "c"]', 32],
  ['self.li.sum() == 6 && self.li.min() == 1 && self.li.max() == 3', 18],
  ['self.li.distinct().size() == 3 && self.li.reverse()[0] == 2', 52],
  ['self.li.slice(0, 2) == [3, 1]', 16],
  ['[[1], [2]].flatten() == [1, 2]', 14],
  ['lists.range(3) == [0, 1, 2]', 15],
  ['self.lo.all(x, has(x.name)) && has(self.mapo["one"].n)', 14],
  ['self.lo.size() > 1 ? (has(self.lo[1].name) ? self.lo[1].name.size() : 0) == 1 : false', 13],
  ['self.lo.all(x, x.port > 0 && x.name != "")', 19],
  ['self.lo.map(x, x.name) == ["x", "y"]', 32],
  ['self.lo.all(x, self.lo.exists_one(y, x.name == y.name))', 41],
  ['self.map.all(k, k.size() > 0)', 15],
  ['self.mapo.all(k, self.mapo[k].n > 0)', 19],
  ['self.mapo.all(k, v, v.n > 0 && k != "")', 17],
  ['self.l.all(i, v, i < 3)', 18],
  ['self.mapo.transformList(k, v, v.n).sum() == 3', 34],
  ['self.mapo.transformMap(k, v, v.n > 1, v.n)["two"] == 2', 17],
  ['self.l.exists(x, x == "a" || self.l[9] == "x")', 22],
  ['{"a": self.n} == {"a": 5}', 33],
  [
    '!format.dns1123Label().validate("my-label").hasValue() && format.dns1123Label().validate("My_Label").hasValue()',
    21,
  ],
  [
    'format.uuid().validate("x").hasValue() && !format.labelValue().validate("a.b").hasValue() && !format.qualifiedName().validate("a.io/b").hasValue()',
    51,
  ],
  ['sets.contains([1, 2, 3], [2]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 2], [2, 1, 1])', 20],
  ['sets.equivalent(self.l, ["a", "b", "c"])', 21],
  ['type(self.n) == int && type(self.s) == string && type(self.l) == list && type(self.map) == map', 16],
  ['[1, 2].all(x, x > 0) && [].size() == 0', 13],
  ['[1, 2, 3].exists(x, y, x == 1 && y == 2)', 18],
  ['self.lo.filter(x, x.port == 80)[0].name.startsWith("x")', 26],
  ['"a" in self.set && self.set[0] == "b" && self.set.all(x, x in ["a", "b"])', 19],
  ['dyn(self.keyed) == dyn(self.other) && dyn(self.other) == dyn(self.keyed)', 14],
  ['dyn(self.keyed) + dyn(self.other) == self.keyed && (dyn(self.keyed) + dyn(self.other))[0].k == "x"', 21],
  ['self.keyed[0] in dyn(self.other) && self.keyed.exists(x, dyn(x) == self.other[1])', 23],
  ['[self.keyed[1], self.keyed[0]] == self.keyed', 19],
  ['self.keyed == [self.keyed[1], self.keyed[0]]', 19],
  ['self.nulls.all(x, dyn(x) == null || x.size() == 1)', 18],
  ['self.nulls.filter(x, dyn(x) != null).size() == 1', 24],
  ['self.nulls.map(x, type(x))[1] == null_type', 34],
]

describe('an evaluation costs what it costs in Kubernetes', () => {
  for (const [rule, cost] of costs) {
    test(rule, () => {
      const found = expressionCases.find(({ title }) => title === rule)
      const { node, program } = compiled(found?.schema ?? {})
      const meter = new CostMeter()
      program.evaluate(new ValueReader().read(found?.values[0], node.schema), undefined, meter)
      assert.equal(meter.spent, cost)
    })
  }
})

const advice =
  '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'

describe('a definition whose rules may cost too much is refused', () => {
  const texts = { type: 'array', items: { type: 'string' } }
  const nested = 'self.l.all(x, self.l.all(y, x != y))'
  const rulesOf = (l: JsonObject, count: number) => ({
    type: 'object',
    properties: { l },
    'x-kubernetes-validations': Array.from({ length: count }, () => ({ rule: nested })),
  })

  test('with the factor and what helps', () => {
    const [first] = refusals(rulesOf({ ...texts, maxItems: 500, items: { type: 'string', maxLength: 100 } }, 1))
    const where = 'S.properties[spec].x-kubernetes-validations[0].rule'
    assert.equal(first, `${where}: Forbidden: estimated rule cost exceeds budget by factor of 1.125300x ${advice}`)
  })

  test('without a factor where it is beyond reason', () => {
    const found = refusals(rulesOf(texts, 1))
    assert.match(found[0] ?? '', /estimated rule cost exceeds budget by factor of more than 100x/)
  })

  test('also where rules cost too much only together, with the four dearest', () => {
    const found = refusals(rulesOf({ ...texts, maxItems: 480, items: { type: 'string', maxLength: 50 } }, 21))
    const total = `x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1.210205x ${advice}`
    assert.equal(found.length, 5)
    assert.equal(found.filter((each) => each.includes('contributed to estimated rule cost total')).length, 4)
    assert.equal(found.at(-1), `S: Forbidden: ${total}`)
  })

  test('for each place of a rule that lists and maps around it multiply', () => {
    const inner = {
      type: 'string',
      maxLength: 100,
      'x-kubernetes-validations': [{ rule: 'self.matches("^[a-z]{1,63}$")' }],
    }
    const list = (more: JsonObject) => ({ type: 'array', items: { type: 'array', items: inner, ...more }, ...more })
    assert.equal(refusals(list({ maxItems: 100 })).length, 0)
    assert.match(refusals(list({ maxItems: 1000 }))[0] ?? '', /factor of 16\.5x/)
  })

  test('for its message too', () => {
    const raw = { type: 'object', properties: { l: texts } }
    const rule = { rule: 'true', messageExpression: 'self.l.map(x, self.l.map(y, x + y).join("")).join("")' }
    const [first] = refusals({ ...raw, 'x-kubernetes-validations': [rule] })
    assert.match(first ?? '', /messageExpression: Forbidden: estimated messageExpression cost exceeds budget/)
  })
})

test('what is compared inside of values counts too, where Kubernetes does not count it', async () => {
  const item = { type: 'object', properties: { a: { type: 'array', items: { type: 'integer' } } } }
  const raw = {
    type: 'object',
    properties: { l: { type: 'array', items: { type: 'integer' } }, big: item },
    'x-kubernetes-validations': [{ rule: 'self.l.all(x, self.big == self.big)' }],
  }
  const value = { l: Array.from({ length: 1000 }, () => 1), big: { a: Array.from({ length: 100_000 }, () => 1) } }
  const errors = await new RuleChecker(schemaOf(raw)).check({ spec: value }, undefined)
  assert.match(errors[0]?.message ?? '', /operation cancelled: actual cost limit exceeded/)
})
