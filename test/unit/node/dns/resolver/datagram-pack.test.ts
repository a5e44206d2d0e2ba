import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatagramPack, unpackDatagrams } from '../../../../../src/node/dns/resolver/datagram-pack.ts'

function unpacked(packed: Uint8Array): readonly string[] {
  const found: string[] = []
  unpackDatagrams(packed, (bytes, source) => found.push(`${bytes.toString('latin1')} from ${source[0]}`))
  return found
}

test('datagrams come out as they went in, also those that need more memory, and nothing is left for the next time', () => {
  const pack = new DatagramPack()
  const texts = ['a', '', 'x'.repeat(20_000), 'y'.repeat(65_507), 'b']
  for (const [index, text] of texts.entries())
    pack.add(Buffer.from(`${text} and what stands behind it`), text.length, Buffer.alloc(32, index))
  assert.equal(pack.isEmpty, false)
  assert.deepEqual(
    unpacked(pack.take()),
    texts.map((text, index) => `${text} from ${index}`),
  )
  assert.equal(pack.isEmpty, true)
  pack.add(Buffer.from('next'), 4, Buffer.alloc(32, 9))
  assert.deepEqual(unpacked(pack.take()), ['next from 9'])
})
