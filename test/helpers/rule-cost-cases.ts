import type { JsonObject } from '../../src/model/api-object.ts'
import type { RuleCase } from './rule-cases.ts'

type Bounds = readonly [items: JsonObject, text: JsonObject]

/** Lists, maps and texts with and without limits. */
const bounds: Readonly<Record<string, Bounds>> = {
  'no limits': [{}, {}],
  'lists of 10': [{ maxItems: 10 }, {}],
  'texts of 10': [{}, { maxLength: 10 }],
  'lists of 100, texts of 100': [{ maxItems: 100 }, { maxLength: 100 }],
  'lists of 1000, texts of 1000': [{ maxItems: 1000 }, { maxLength: 1000 }],
  'enumerated texts': [{ maxItems: 100 }, { enum: ['a', 'bcd'] }],
}

const rules: readonly string[] = [
  'self.l.all(x, x.startsWith("a"))',
  'self.l.all(x, self.l.exists(y, x == y))',
  'self.l.all(x, self.l.all(y, self.l.exists(z, x + y == z)))',
  'self.l.all(x, x.matches("^[a-z]{1,63}$"))',
  'self.l.exists_one(x, x == self.s)',
  'self.l.filter(x, x != "").map(x, x.upperAscii()).join(",") == self.s',
  'self.lo.all(o, o.parts.all(p, p.size() < 5 && o.name.contains(p)))',
  'self.lo.map(o, o.name) == self.l',
  'self.m.all(k, self.m[k] != self.s && k in self.l)',
  'self.m.exists(k, v, v == k)',
  'self.m.transformList(k, v, k + v).size() > 3',
  'self.s == self.s.replace("a", "b") || self.s.split(",").all(x, x.size() < 5)',
  'self.s.find("[0-9]+") == "1" || self.s.findAll("x", 3).size() == 2',
  'self.s.contains(self.s) && self.s.lowerAscii() < self.s.trim()',
  'sets.contains(self.l, self.l) && sets.equivalent(self.l, ["a"])',
  'self.ios == "a" || self.ios > 3',
  'self.l.isSorted() && self.l.indexOf("x") == 1',
  'self.?s.optMap(v, v + "x").orValue("y") == self.s',
  'quantity(self.s).isGreaterThan(quantity("1")) || isIP(self.s) || url(self.s).getHost() == self.s',
  'cidr(self.s).containsIP(self.s) && !format.dns1123Label().validate(self.s).hasValue()',
  'has(self.lo) ? self.lo.size() == 3 : self.l.size() == 3',
  'self.t < timestamp(self.s) && self.d == duration(self.s)',
]

function schemaOf([items, text]: Bounds): JsonObject {
  const texts = { type: 'string', ...text }
  const list = (schema: JsonObject) => ({ type: 'array', ...items, items: schema })
  const { maxItems } = items
  return {
    type: 'object',
    properties: {
      s: texts,
      l: list(texts),
      lo: list({ type: 'object', required: ['name'], properties: { name: texts, parts: list(texts) } }),
      m: {
        type: 'object',
        additionalProperties: texts,
        ...(maxItems === undefined ? {} : { maxProperties: maxItems }),
      },
      ios: { 'x-kubernetes-int-or-string': true },
      t: { type: 'string', format: 'date-time' },
      d: { type: 'string', format: 'duration' },
    },
  }
}

const each = rules.flatMap((rule) => {
  return Object.entries(bounds).map(([name, bound]): RuleCase => {
    return {
      title: `${rule} with ${name}`,
      schema: { ...schemaOf(bound), 'x-kubernetes-validations': [{ rule }] },
      values: [],
    }
  })
})

const slow = { rule: 'self.l.all(x, self.l.all(y, x != y))' }

/** Where rules stand in lists and maps, and rules that cost too much only together. */
const placed: readonly RuleCase[] = [
  ...Object.entries(bounds).flatMap(([name, bound]): readonly RuleCase[] => {
    const inner = { ...schemaOf(bound), 'x-kubernetes-validations': [{ rule: 'self.l.all(x, x != "")' }] }
    const outer = { type: 'array', ...bound[0], items: inner }
    const deep = {
      type: 'object',
      properties: { a: { type: 'object', additionalProperties: outer, maxProperties: 3 } },
    }
    return [
      { title: `in a list, ${name}`, schema: outer, values: [] },
      { title: `in a list in a map, ${name}`, schema: deep, values: [] },
    ]
  }),
  {
    title: 'together',
    schema: {
      ...schemaOf([{ maxItems: 900 }, { maxLength: 10 }]),
      'x-kubernetes-validations': Array.from({ length: 40 }, (_, index) => ({ ...slow, message: `m${index}` })),
    },
    values: [],
  },
  {
    title: 'messages',
    schema: {
      ...schemaOf([{}, {}]),
      'x-kubernetes-validations': [
        { rule: 'true', messageExpression: 'self.l.map(x, self.l.map(y, x + y).join("")).join("")' },
      ],
    },
    values: [],
  },
]

export const costCases: readonly RuleCase[] = [...each, ...placed]
