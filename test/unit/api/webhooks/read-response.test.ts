import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ExpectedResponse, readResponse } from '../../../../src/api/webhooks/read-response.ts'
import { WebhookError } from '../../../../src/api/webhooks/webhook-error.ts'

const validating: ExpectedResponse = { type: 'validating', version: 'v1', uid: 'u1' }
const mutating: ExpectedResponse = { type: 'mutating', version: 'v1', uid: 'u1' }

function review(response: object | undefined, apiVersion = 'admission.k8s.io/v1', kind = 'AdmissionReview'): string {
  return JSON.stringify({ apiVersion, kind, response })
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

const patch = encoded([{ op: 'add', path: '/a', value: 1 }])

describe('the answer of a webhook', () => {
  test('an allowed request, with warnings', () => {
    const {
      isAllowed,
      warnings,
      patch: operations,
    } = readResponse(review({ uid: 'u1', allowed: true, warnings: ['old'] }), validating)
    assert.deepEqual({ isAllowed, warnings, operations }, { isAllowed: true, warnings: ['old'], operations: [] })
  })

  test('an answer that says nothing denies', () => {
    assert.equal(readResponse(review({ uid: 'u1' }), validating).isAllowed, false)
  })

  test('the Status of a refusal', () => {
    const status = { code: 418, message: 'no', reason: 'Tea', details: { causes: [{ reason: 'R', message: 'm' }] } }
    const { status: read } = readResponse(review({ uid: 'u1', allowed: false, status }), validating)
    assert.deepEqual({ ...read }, status)
  })

  test('a patch is decoded, and its numbers keep their text', () => {
    const text = Buffer.from('[{"op":"add","path":"/a","value":12345678901234567890}]').toString('base64')
    const { patch: operations } = readResponse(
      review({ uid: 'u1', allowed: true, patchType: 'JSONPatch', patch: text }),
      mutating,
    )
    assert.equal(JSON.stringify(operations), '[{"op":"add","path":"/a","value":12345678901234567890}]')
  })

  test('version v1beta1 checks neither uid nor kind, and needs no type of a patch', () => {
    const { patch: operations } = readResponse(review({ allowed: true, patch }, '', ''), {
      ...mutating,
      version: 'v1beta1',
    })
    assert.equal(operations.length, 1)
  })

  const invalid = 'received invalid webhook response: '
  const v1 = 'admission.k8s.io/v1, Kind=AdmissionReview'
  const refusals: readonly (readonly [string, string, ExpectedResponse, string | RegExp])[] = [
    ['a body that is no JSON', 'hello', validating, /^failed to call webhook: the answer is no AdmissionReview: /],
    [
      'a body of another shape',
      '[]',
      validating,
      /^failed to call webhook: the answer is no AdmissionReview: the body: /,
    ],
    ['texts in the place of lists', review({ uid: 'u1', warnings: 'a' }), validating, /response\.warnings/],
    ['no response', review(undefined), validating, `${invalid}webhook response was absent`],
    ['another uid', review({ uid: 'u2' }), validating, `${invalid}expected response.uid="u1", got "u2"`],
    ['no uid', review({}), validating, `${invalid}expected response.uid="u1", got ""`],
    [
      'another version',
      review({ uid: 'u1' }, 'admission.k8s.io/v1beta1'),
      validating,
      `${invalid}expected webhook response of ${v1}, got admission.k8s.io/v1beta1, Kind=AdmissionReview`,
    ],
    [
      'no kind',
      review({ uid: 'u1' }, '', ''),
      validating,
      `${invalid}expected webhook response of ${v1}, got /, Kind=`,
    ],
    [
      'a patch of a validating webhook',
      review({ uid: 'u1', patch }),
      validating,
      `${invalid}validating webhook may not return response.patch`,
    ],
    [
      'a type of a patch of a validating webhook',
      review({ uid: 'u1', patchType: 'JSONPatch' }),
      validating,
      `${invalid}validating webhook may not return response.patchType`,
    ],
    [
      'a patch without its type',
      review({ uid: 'u1', allowed: true, patch }),
      mutating,
      `${invalid}webhook returned response.patch but not response.patchType`,
    ],
    [
      'a type without a patch',
      review({ uid: 'u1', allowed: true, patchType: 'JSONPatch' }),
      mutating,
      `${invalid}webhook returned response.patchType but not response.patch`,
    ],
    [
      'an empty type',
      review({ uid: 'u1', allowed: true, patch, patchType: '' }),
      mutating,
      `${invalid}webhook returned invalid response.patchType of ""`,
    ],
    [
      'another type',
      review({ uid: 'u1', allowed: true, patch, patchType: 'Merge' }),
      mutating,
      'unsupported patch type "Merge"',
    ],
    [
      'a patch that is no list',
      review({ uid: 'u1', allowed: true, patch: encoded({}), patchType: 'JSONPatch' }),
      mutating,
      'received undecodable patch in webhook response: a JSON patch is an array',
    ],
    [
      'a patch that is no JSON',
      review({ uid: 'u1', allowed: true, patch: 'aGVsbG8=', patchType: 'JSONPatch' }),
      mutating,
      /^received undecodable patch in webhook response: /,
    ],
  ]
  for (const [title, body, expected, message] of refusals)
    test(`${title} is a failed call`, () => {
      const check = (thrown: unknown) => {
        assert.ok(thrown instanceof WebhookError)
        if (typeof message === 'string') assert.equal(thrown.message, message)
        else assert.match(thrown.message, message)
        return true
      }
      assert.throws(() => readResponse(body, expected), check)
    })
})
