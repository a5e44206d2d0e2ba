import { change, create, type Kind, objectCases } from './object-case.ts'

const kind: Kind = {
  collection: '/api/v1/namespaces/default/limitranges',
  valid: { metadata: { name: 'new' }, spec: { limits: [{ type: 'Container', max: { cpu: '2' } }] } },
}
const item = (fields: object) => ({ spec: { limits: [fields] } })
const container = (fields: object) => item({ type: 'Container', ...fields })
const at = 'spec.limits[0]'

export const limitRangeCases = objectCases('LimitRanges', kind, [
  create('nothing special', {}),
  create('no limits', { spec: { limits: [] } }),
  create('no spec', { spec: null }),
  create('a type that is none', item({ type: 'Node' }), `Invalid ${at}.type`),
  create('a type of another domain', item({ type: 'example.com/disk', max: { storage: '1' } })),
  create('a type with a blank', item({ type: 'a b' }), `Invalid ${at}.type`),
  create('a type twice', { spec: { limits: [{ type: 'Pod' }, { type: 'Pod' }] } }, 'Duplicate spec.limits[1].type'),
  create(
    'a resource that is none',
    container({ max: { colour: '1' } }),
    ...[`Invalid ${at}.max[colour]`, `Invalid ${at}.default[colour]`, `Invalid ${at}.defaultRequest[colour]`],
  ),
  create(
    'a number of pods',
    container({ min: { pods: '1' } }),
    ...[`Invalid ${at}.min[pods]`, `Invalid ${at}.defaultRequest[pods]`],
  ),
  create('a device', container({ max: { 'example.com/gpu': '2' } })),
  create(
    'less than the minimum',
    container({ min: { cpu: '3' }, max: { cpu: '2' } }),
    ...[`Invalid ${at}.min[cpu]`, `Invalid ${at}.default[cpu]`, `Invalid ${at}.defaultRequest[cpu]`],
  ),
  create(
    'a request above the limit',
    container({ default: { memory: '1Gi' }, defaultRequest: { memory: '2Gi' } }),
    `Invalid ${at}.defaultRequest[memory]`,
  ),
  create(
    'a default above the maximum',
    container({ max: { memory: '1Gi' }, default: { memory: '2Gi' } }),
    `Invalid ${at}.default[memory]`,
    `Invalid ${at}.defaultRequest[memory]`,
  ),
  create(
    'a device with another request',
    container({ default: { 'example.com/gpu': '2' }, defaultRequest: { 'example.com/gpu': '1' } }),
    `Invalid ${at}.defaultRequest[example.com/gpu]`,
  ),
  create('a ratio', container({ maxLimitRequestRatio: { cpu: '2' } })),
  create(
    'a ratio below one',
    container({ maxLimitRequestRatio: { cpu: '500m' } }),
    `Invalid ${at}.maxLimitRequestRatio[cpu]`,
  ),
  create(
    'a ratio beyond the bounds',
    container({ min: { cpu: '1' }, max: { cpu: '2' }, maxLimitRequestRatio: { cpu: '3' } }),
    `Invalid ${at}.maxLimitRequestRatio[cpu]`,
  ),
  create('bounds of pods', item({ type: 'Pod', min: { cpu: '1' }, max: { cpu: '2' } })),
  create(
    'defaults of pods',
    item({ type: 'Pod', default: { cpu: '1' }, defaultRequest: { cpu: '2' } }),
    `Forbidden ${at}.default`,
    `Forbidden ${at}.defaultRequest`,
  ),
  create('bounds of claims', item({ type: 'PersistentVolumeClaim', min: { storage: '1Gi' } })),
  create('claims without storage', item({ type: 'PersistentVolumeClaim', min: { cpu: '1' } }), `Required ${at}.limits`),
  change('the bounds', {}, container({ max: { cpu: '4' } })),
  change('the type', {}, item({ type: 'Node' }), `Invalid ${at}.type`),
])
