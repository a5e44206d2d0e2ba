import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { parseProtobufBody } from '../../../../src/api/decode/protobuf.ts'
import { StatusError } from '../../../../src/api/status.ts'
import { bytesField, envelope, numberField } from '../../../helpers/protobuf-writer.ts'

const join = (...parts: Uint8Array[]) => Buffer.concat(parts)
const metadata = bytesField(
  1,
  join(bytesField(1, 'web'), bytesField(3, 'default'), bytesField(11, bytesField(1, 'app'))),
)
const port = bytesField(1, join(bytesField(1, 'http'), bytesField(2, 'TCP'), numberField(3, 80n)))
const service = envelope('v1', 'Service', join(metadata, bytesField(2, join(port, bytesField(3, '10.96.0.7')))))

/** Bytes overwritten, taken out or put in, at places of the message. */
const mutations = fc.array(
  fc.record({
    at: fc.nat({ max: service.length - 1 }),
    kind: fc.constantFrom('set', 'cut', 'insert', 'end'),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 10 }),
  }),
  { minLength: 1, maxLength: 4 },
)

it('A protobuf body that was mutated is read, or refused with a 4xx; nothing else comes of it.', () => {
  const outcomes = { read: 0, refused: 0 }
  fc.assert(
    fc.property(mutations, (steps) => {
      let message = service
      for (const { at, kind, bytes } of steps) {
        const [before, after] = [message.subarray(0, at), message.subarray(at)]
        if (kind === 'end') message = before
        else if (kind === 'cut') message = join(before, after.subarray(bytes.length))
        else message = join(before, bytes, kind === 'set' ? after.subarray(bytes.length) : after)
      }
      try {
        parseProtobufBody(message)
        outcomes.read++
      } catch (thrown) {
        assert.ok(thrown instanceof StatusError && thrown.httpCode < 500, String(thrown))
        outcomes.refused++
      }
    }),
    { numRuns: 2_000 },
  )
  assert.ok(outcomes.read > 5 && outcomes.refused > 500, JSON.stringify(outcomes))
})
