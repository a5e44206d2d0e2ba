import { integer, listOf, object, type RuleCase, shortText } from './rule-cases.ts'

const name = { type: 'string', maxLength: 63 }
const parent = {
  type: 'object',
  required: ['name'],
  properties: { name, kind: name, sectionName: name, port: integer },
}
const headers = {
  type: 'object',
  properties: { set: listOf({ type: 'object', properties: { name, value: name } }), remove: listOf(name) },
}
const filter = object(
  {
    type: { type: 'string', maxLength: 63 },
    headers,
    redirect: { type: 'object', properties: { path: object({ type: name, replace: name }) } },
  },
  { rule: "!(has(self.headers) && self.type != 'Headers')", message: 'headers must be nil if the type is not Headers' },
  { rule: "!(!has(self.headers) && self.type == 'Headers')", message: 'headers must be specified for type Headers' },
)

/** Rules in the shapes of routes, gateways, issuers and certificates that are published. */
export const routeCases: readonly RuleCase[] = [
  {
    title: 'parents that differ by their section',
    schema: {
      ...listOf(parent),
      'x-kubernetes-validations': [
        {
          message: 'sectionName must be unique when parentRefs includes 2 or more references to the same parent',
          rule: `self.all(p1, self.exists_one(p2, p1.name == p2.name && (((!has(p1.kind) || p1.kind == '') && (!has(p2.kind) || p2.kind == '')) || (has(p1.kind) && has(p2.kind) && p1.kind == p2.kind)) && (((!has(p1.sectionName) || p1.sectionName == '') && (!has(p2.sectionName) || p2.sectionName == '')) || (has(p1.sectionName) && has(p2.sectionName) && p1.sectionName == p2.sectionName))))`,
        },
      ],
    },
    values: [
      [{ name: 'a' }, { name: 'a', sectionName: 'x' }, { name: 'b' }],
      [{ name: 'a' }, { name: 'a', kind: '' }],
      [
        { name: 'a', sectionName: 'x' },
        { name: 'a', sectionName: 'x', port: 1 },
      ],
      [],
    ],
  },
  {
    title: 'filters of a rule',
    schema: object(
      {
        filters: listOf(filter),
        matches: listOf({ type: 'object', properties: { path: { type: 'object', properties: { type: name } } } }),
      },
      {
        message: 'at most one filter of a type',
        rule: "!has(self.filters) || self.filters.filter(f, f.type == 'Redirect').size() <= 1",
      },
      {
        message: 'prefixes are replaced of one prefix match',
        rule: "(has(self.filters) && self.filters.exists_one(f, has(f.redirect) && has(f.redirect.path) && f.redirect.path.type == 'Prefix' && has(f.redirect.path.replace))) ? ((size(self.matches) != 1 || !has(self.matches[0].path) || self.matches[0].path.type != 'Prefix') ? false : true) : true",
      },
    ),
    values: [
      { filters: [{ type: 'Headers', headers: { set: [{ name: 'a', value: 'b' }] } }] },
      { filters: [{ type: 'Headers' }, { type: 'Redirect', headers: {} }] },
      {
        filters: [{ type: 'Redirect', redirect: { path: { type: 'Prefix', replace: '/' } } }],
        matches: [{ path: { type: 'Prefix' } }],
      },
      {
        filters: [{ type: 'Redirect', redirect: { path: { type: 'Prefix', replace: '/' } } }],
        matches: [{ path: { type: 'Exact' } }],
      },
      { filters: [{ type: 'Redirect', redirect: { path: { type: 'Prefix', replace: '/' } } }] },
    ],
  },
  {
    title: 'one of several, and times of a certificate',
    schema: object(
      {
        duration: shortText,
        renewBefore: shortText,
        renewBeforePercentage: integer,
        secret: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { name } },
        inline: shortText,
        quantity: { 'x-kubernetes-int-or-string': true, maxLength: 20, pattern: '^[0-9]+(m|Mi)?$' },
      },
      { rule: '!(has(self.renewBefore) && has(self.renewBeforePercentage))', message: 'are mutually exclusive' },
      { rule: '!has(self.duration) || !has(self.renewBefore) || duration(self.duration) > duration(self.renewBefore)' },
      { rule: '(has(self.secret) ? 1 : 0) + (has(self.inline) ? 1 : 0) == 1', message: 'exactly one source' },
      { rule: '[has(self.secret), has(self.inline)].filter(x, x == true).size() <= 1' },
      {
        rule: '!has(self.quantity) || (type(self.quantity) == string ? isQuantity(self.quantity) : self.quantity >= 0)',
      },
    ),
    values: [
      { secret: { name: 'a' }, duration: '2160h', renewBefore: '360h', quantity: '100m' },
      { inline: 'x', duration: '1h', renewBefore: '360h', quantity: 5 },
      { inline: 'x', secret: {}, renewBefore: '1h', renewBeforePercentage: 5 },
      { inline: 'x', duration: 'soon', renewBefore: '1h' },
      {},
    ],
  },
]
