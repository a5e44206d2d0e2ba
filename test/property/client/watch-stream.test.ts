import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { WatchDecoder } from '../../../src/client/watch-stream.ts'
import { cutAt, cuts, jsonObjects } from '../../helpers/chunks.ts'

const events = fc.array(
  fc.record({ type: fc.constantFrom('ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'), object: jsonObjects }),
  { maxLength: 8 },
)

describe('the watch decoder', () => {
  it('gives the same events however the bytes are cut', () => {
    fc.assert(
      fc.property(events, cuts, fc.constantFrom('\n', '\r\n', '\n\n'), (sent, places, end) => {
        const lines = sent.map((event) => JSON.stringify(event))
        const bytes = Buffer.from(lines.map((line) => line + end).join(''))
        const decoder = new WatchDecoder()
        const received = cutAt(bytes, places).flatMap((chunk) => [...decoder.push(chunk)])
        assert.deepEqual(
          received.map((event) => JSON.stringify(event)),
          lines,
        )
      }),
    )
  })
})
