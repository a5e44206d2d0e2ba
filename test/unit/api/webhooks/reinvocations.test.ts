import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Reinvocations } from '../../../../src/api/webhooks/reinvocations.ts'
import { readWebhooks, type Webhook } from '../../../../src/api/webhooks/webhook.ts'

function webhook(name: string, reinvocationPolicy: 'IfNeeded' | 'Never'): Webhook {
  const [read] = readWebhooks('mutating', {
    kind: 'MutatingWebhookConfiguration',
    apiVersion: 'admissionregistration.k8s.io/v1',
    metadata: { name: 'c' },
    webhooks: [{ name, reinvocationPolicy }],
  })
  assert.ok(read)
  return read
}

describe('which webhooks are asked again', () => {
  test('none where nothing was changed', () => {
    const [a, reinvocations] = [webhook('a', 'IfNeeded'), new Reinvocations()]
    reinvocations.record(a, false)
    assert.equal(reinvocations.hasChange, false)
    assert.equal(reinvocations.isDue(a), false)
  })

  test('those before the one that changed the object, and only where their policy is IfNeeded', () => {
    const [a, b, c, d] = [
      webhook('a', 'IfNeeded'),
      webhook('b', 'Never'),
      webhook('c', 'IfNeeded'),
      webhook('d', 'IfNeeded'),
    ]
    const reinvocations = new Reinvocations()
    reinvocations.record(a, false)
    reinvocations.record(b, false)
    reinvocations.record(c, true)
    reinvocations.record(d, false)
    assert.equal(reinvocations.hasChange, true)
    assert.deepEqual(
      [a, b, c, d].map((each) => reinvocations.isDue(each)),
      [true, false, false, false],
    )
  })

  test('one that was asked after the change comes when a repeated one changes the object', () => {
    const [a, b, c] = [webhook('a', 'IfNeeded'), webhook('b', 'Never'), webhook('c', 'IfNeeded')]
    const reinvocations = new Reinvocations()
    reinvocations.record(a, false)
    reinvocations.record(b, true)
    reinvocations.record(c, false)
    assert.equal(reinvocations.isDue(c), false)
    reinvocations.record(a, true)
    assert.equal(reinvocations.isDue(c), true)
  })
})
