import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addAmounts, countAmount, formatAmount, parseAmount } from '../../../src/model/amount.ts'
import { podAmounts } from '../../../src/model/pod-amounts.ts'

describe('an amount', () => {
  test('is written with the largest suffix that leaves a whole number', () => {
    const rows = [
      ['1000m', '1'],
      ['1500m', '1500m'],
      ['1000', '1k'],
      ['1024', '1024'],
      ['1024Mi', '1Gi'],
      ['1500Mi', '1500Mi'],
      ['0.5Gi', '512Mi'],
      ['1e6', '1M'],
      ['0', '0'],
      ['0Ki', '0'],
    ] as const
    for (const [text, canonical] of rows) assert.equal(formatAmount(parseAmount(text)), canonical, text)
  })

  test('is added in the form of the first that is not zero', () => {
    const add = (one: string, other: string) => formatAmount(addAmounts(parseAmount(one), parseAmount(other)))
    assert.deepEqual([add('1Gi', '1024Mi'), add('0', '1Ki'), add('500m', '500m')], ['2Gi', '1Ki', '1'])
    assert.equal(formatAmount(countAmount(3)), '3')
  })
})

describe('the requests of a Pod as a whole', () => {
  const container = (cpu: string, fields: object = {}) => ({ resources: { requests: { cpu } }, ...fields })
  const cpuOf = (spec: object) => {
    const cpu = podAmounts(spec as never, 'requests').get('cpu')
    return cpu && formatAmount(cpu)
  }
  const sidecar = { restartPolicy: 'Always' }

  test('are the sum of its containers, at least the largest init container beside the sidecars before it', () => {
    assert.equal(cpuOf({ containers: [container('1'), container('500m')] }), '1500m')
    assert.equal(cpuOf({ containers: [container('1')], initContainers: [container('3'), container('2')] }), '3')
    assert.equal(
      cpuOf({ containers: [container('1')], initContainers: [container('1', sidecar), container('3')] }),
      '4',
    )
    assert.equal(cpuOf({ containers: [container('3')], initContainers: [container('1', sidecar)] }), '4')
  })

  test('are what the Pod says, where it says so', () => {
    assert.equal(cpuOf({ containers: [container('1')], resources: { requests: { cpu: '5' } } }), '5')
    assert.equal(cpuOf({ containers: [{}] }), undefined)
  })
})
