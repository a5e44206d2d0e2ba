import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseProtobufBody } from '../../../../src/api/decode/protobuf.ts'
import { kindTables } from '../../../../src/api/schema/kind-tables.ts'
import { StatusError } from '../../../../src/api/status.ts'
import { bytesField, envelope, numberField } from '../../../helpers/protobuf-writer.ts'

const kinds = Object.keys(kindTables.kinds)
  .map((key) => key.split('/'))
  .map(([group = '', version = '', kind = '']) => ({
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind,
  }))

/** Bytes that look like a message: fields that hold numbers, texts and further messages. */
const { message } = fc.letrec<{ message: Buffer; field: Buffer }>((tie) => ({
  message: fc.array(tie('field'), { maxLength: 6 }).map((fields) => Buffer.concat(fields)),
  field: fc.oneof(
    { depthSize: 'medium' },
    fc
      .tuple(fc.integer({ min: 1, max: 40 }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }))
      .map(([n, v]) => numberField(n, v)),
    fc.tuple(fc.integer({ min: 1, max: 40 }), fc.string({ unit: 'binary' })).map(([n, v]) => bytesField(n, v)),
    fc.tuple(fc.integer({ min: 1, max: 40 }), fc.uint8Array()).map(([n, v]) => bytesField(n, v)),
    fc.tuple(fc.integer({ min: 1, max: 40 }), tie('message')).map(([n, v]) => bytesField(n, v)),
  ),
}))

function parseOrRefuse(bytes: Uint8Array): void {
  try {
    assert.doesNotThrow(() => JSON.stringify(parseProtobufBody(bytes)))
  } catch (thrown) {
    const cause = thrown instanceof assert.AssertionError ? thrown.actual : thrown
    assert.ok(cause instanceof StatusError, String(cause))
    assert.equal(cause.httpCode, 400)
  }
}

describe('hostile protobuf bodies', () => {
  test('any bytes behind the magic ones are an object or a 400', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) =>
        parseOrRefuse(Buffer.concat([Buffer.from('k8s\0'), bytes])),
      ),
    )
  })

  test('any message of any kind, cut anywhere, is an object or a 400', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), message, fc.nat(), ({ apiVersion, kind }, bytes, cut) => {
        const body = envelope(apiVersion, kind, bytes)
        parseOrRefuse(body)
        parseOrRefuse(body.subarray(0, cut % body.length))
      }),
      { numRuns: 500 },
    )
  })

  test('half a million map entries take time in proportion', () => {
    const entry = bytesField(2, Buffer.concat([bytesField(1, 'k'), bytesField(2, 'v')]))
    const body = envelope('v1', 'ConfigMap', Buffer.concat(Array.from({ length: 300_000 }, () => entry)))
    const startedMs = performance.now()
    assert.deepEqual(parseProtobufBody(body), { apiVersion: 'v1', kind: 'ConfigMap', data: { k: 'v' } })
    assert.ok(performance.now() - startedMs < 10_000)
  })
})
