import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { renderFailure } from '../../../../src/api/status.ts'
import { denial } from '../../../../src/api/webhooks/rejection.ts'
import { readWebhooks } from '../../../../src/api/webhooks/webhook.ts'

const [webhook] = readWebhooks('validating', {
  kind: 'ValidatingWebhookConfiguration',
  apiVersion: 'admissionregistration.k8s.io/v1',
  metadata: { name: 'c' },
  webhooks: [{ name: 'a.example.com', clientConfig: { url: 'https://127.0.0.1' } }],
})

function answerTo(status: Parameters<typeof denial>[1]) {
  assert.ok(webhook)
  const { message, reason, code, details } = JSON.parse(renderFailure(denial(webhook, status)))
  return { message, reason, code, details }
}

const denied = 'admission webhook "a.example.com" denied the request'

describe('a denied request', () => {
  test('without a Status is a 400 without a reason', () => {
    assert.deepEqual(answerTo(undefined), {
      message: `${denied} without explanation`,
      reason: undefined,
      code: 400,
      details: undefined,
    })
  })

  test('has code, reason, message and details of the webhook', () => {
    const details = { causes: [{ reason: 'R', message: 'm', field: 'f' }] }
    assert.deepEqual(answerTo({ code: 418, reason: 'Tea', message: 'no coffee', details }), {
      message: `${denied}: no coffee`,
      reason: 'Tea',
      code: 418,
      details,
    })
  })

  test('without a message names the reason', () => {
    assert.equal(answerTo({ code: 403, reason: 'Forbidden', message: '' }).message, `${denied}: Forbidden`)
  })

  for (const code of [-1, 0, 200, 399, 600, 100_000])
    test(`with the code ${code}, which is none of an error, is a 400`, () => {
      assert.equal(answerTo({ code, reason: '', message: 'm' }).code, 400)
    })
})
