import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { WatchDecoder } from '../../../src/client/watch-stream.ts'

function push(decoder: WatchDecoder, text: string) {
  return [...decoder.push(Buffer.from(text))]
}

describe('the watch decoder', () => {
  it('joins a line that comes byte by byte, multi-byte characters included', () => {
    const decoder = new WatchDecoder()
    const line = Buffer.from('{"type":"ADDED","object":{"name":"grüße 😀"}}\n')
    const events = Array.from(line).flatMap((byte) => [...decoder.push(Uint8Array.of(byte))])
    assert.deepEqual(events, [{ type: 'ADDED', object: { name: 'grüße 😀' } }])
  })

  it('keeps back a line that has not ended', () => {
    assert.deepEqual(push(new WatchDecoder(), '{"type":"ADDED","object":{}}'), [])
  })

  it('hands over the events before a bad line, then names the line, cut short', () => {
    const events = new WatchDecoder().push(
      Buffer.from(`{"type":"ADDED","object":{}}\nno json \u001b${'x'.repeat(500)}\n`),
    )
    assert.equal(events.next().value?.type, 'ADDED')
    assert.throws(
      () => events.next(),
      (error: Error) =>
        /a line of the watch is not JSON: "no json \\u001bxxx/.test(error.message) && error.message.length < 200,
    )
  })

  it('names what is wrong with a line that is JSON', () => {
    assert.throws(() => push(new WatchDecoder(), '{"type":"NEWS","object":{}}\n'), /type: .*"\{\\"type\\":\\"NEWS/)
    assert.throws(() => push(new WatchDecoder(), '{"type":"ADDED","object":[]}\n'), /object: /)
    assert.throws(() => push(new WatchDecoder(), 'null\n'), /a line of the watch: /)
  })

  it('bounds the length of a line, whole or not', () => {
    const decoder = new WatchDecoder({ maxLineBytes: 100 })
    const filler = 'x'.repeat(60)
    push(decoder, filler)
    push(decoder, filler)
    assert.throws(() => push(decoder, '\n'), /has 120 bytes; at most 100 are read/)
  })

  it('tells of an object whose line is too long by its key and resourceVersion, wherever they stand, and goes on', () => {
    const decoder = new WatchDecoder({ maxLineBytes: 200 })
    const filler = 'x'.repeat(3000)
    const metadata = {
      annotations: { resourceVersion: '1', name: filler },
      name: 'b\u00efg',
      ownerReferences: [{ name: 'other', resourceVersion: '2' }],
      namespace: 'default',
      resourceVersion: '42',
    }
    const object = {
      data: { '"}': filler, metadata: { name: 'inner' } },
      metadata,
      list: [{ metadata: { name: 'no' } }],
    }
    const line = `${JSON.stringify({ object, type: 'MODIFIED' })}\n`
    for (const size of [1, 7, 5000]) {
      const bytes = Buffer.from(`${line}{"type":"ADDED","object":{}}\n`)
      const events = []
      for (let at = 0; at < bytes.length; at += size) events.push(...decoder.push(bytes.subarray(at, at + size)))
      assert.deepEqual(
        events.map((event) => (event.type === 'LEFT_OUT' ? [event.change, event.identity] : event.type)),
        [['MODIFIED', { name: 'b\u00efg', namespace: 'default', uid: undefined, resourceVersion: '42' }], 'ADDED'],
      )
    }
  })

  it('tells of an object whose line is no JSON by its key and resourceVersion', () => {
    const bad = '{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"7"},"spec":NaN}}\n'
    const [event] = push(new WatchDecoder(), bad)
    assert.ok(event?.type === 'LEFT_OUT')
    assert.deepEqual([event.change, event.identity.name, event.identity.resourceVersion], ['ADDED', 'a', '7'])
    assert.match(event.fault, /not JSON/)
  })

  it('takes time in proportion to a line that comes in small pieces', () => {
    const decoder = new WatchDecoder()
    const piece = Buffer.from('x'.repeat(64))
    const startedMs = performance.now()
    push(decoder, '{"type":"ADDED","object":{"a":"')
    for (let index = 0; index < 100_000; index += 1) for (const event of decoder.push(piece)) assert.fail(event.type)
    assert.equal(push(decoder, '"}}\n').length, 1)
    // 6.4 MB take 20 ms; joined anew for each piece they would take minutes.
    assert.ok(performance.now() - startedMs < 2000)
  })
})
