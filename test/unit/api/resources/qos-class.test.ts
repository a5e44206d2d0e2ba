import assert from 'node:assert/strict'
import { test } from 'node:test'
import { qosClassOf } from '../../../../src/api/resources/pod-spec/qos-class.ts'
import type { Json } from '../../../../src/model/api-object.ts'

const amounts = (cpu: string, memory: string) => ({ cpu, memory })
const container = (resources: Json): Json => ({ name: 'c', resources })
const full = container({ limits: amounts('1', '1Gi'), requests: amounts('1000m', '1024Mi') })

const rows: readonly [title: string, spec: Json, expected: string][] = [
  ['nothing', { containers: [{ name: 'c' }] }, 'BestEffort'],
  ['zeros', { containers: [container({ limits: amounts('0', '0') })] }, 'BestEffort'],
  ['limits that equal requests, whatever their unit', { containers: [full] }, 'Guaranteed'],
  ['another container without any', { containers: [full, { name: 'd' }] }, 'Burstable'],
  ['an init container without any', { containers: [full], initContainers: [{ name: 'i' }] }, 'Burstable'],
  ['requests alone', { containers: [container({ requests: { cpu: '1' } })] }, 'Burstable'],
  [
    'limits above requests',
    { containers: [container({ limits: amounts('2', '1'), requests: amounts('1', '1') })] },
    'Burstable',
  ],
  ['limits without memory', { containers: [container({ limits: { cpu: '1' }, requests: { cpu: '1' } })] }, 'Burstable'],
  ['other resources', { containers: [container({ limits: { 'example.com/gpu': '1' } })] }, 'BestEffort'],
  ['a text that is no quantity', { containers: [container({ limits: amounts('x', 'y') })] }, 'BestEffort'],
  [
    'resources of the Pod',
    { resources: { limits: amounts('1', '1'), requests: amounts('1', '1') }, containers: [{ name: 'c' }] },
    'Guaranteed',
  ],
]

for (const [title, spec, expected] of rows) {
  test(`a Pod with ${title} is ${expected}`, () => assert.equal(qosClassOf(spec), expected))
}
