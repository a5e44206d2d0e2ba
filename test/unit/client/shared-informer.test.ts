import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ApiClient, SharedInformer } from '../../../src/client/index.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { until } from '../../helpers/until.ts'

const toChunk = (json: object) => Buffer.from(`${JSON.stringify(json)}\n`)
const list = { metadata: { resourceVersion: '5' }, items: [{ metadata: { name: 'a', resourceVersion: '1' } }] }
const change = { type: 'ADDED', object: { metadata: { name: 'b', resourceVersion: '6' } } }

/** A server with one list, whose watch sends one chunk when `chunk` resolves. */
function clientOf(chunk: Promise<IteratorResult<Buffer>>, onWatch: () => void): ApiClient {
  const turns = [chunk].values()
  const watch = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        onWatch()
        return turns.next().value ?? new Promise(() => {})
      },
    }),
  }
  type Asked = { readonly query: Readonly<Record<string, string>> }
  const stream = ({ query }: Asked, _limits: object, consume: (chunks: unknown) => Promise<unknown>) =>
    consume(query['watch'] === 'true' ? watch : Readable.from([toChunk(list)]))
  return { report: () => {}, forget: () => {}, stream } as unknown as ApiClient
}

test('A change right after a handler has taken the collection reaches the handler.', async () => {
  const chunk = Promise.withResolvers<IteratorResult<Buffer>>()
  const taken = Promise.withResolvers<void>()
  const seen: string[] = []
  const collection = { resource: { group: '', version: 'v1', resource: 'nodes' } }
  const client = clientOf(chunk.promise, () => seen.push('watch'))
  const shared = new SharedInformer({ client, collection, log: silentLogger, reduce: (json) => json })
  const source = shared.follow({
    onReplace: () => {
      seen.push('replace')
      return taken.promise
    },
    onEvent: (type, { metadata }) => seen.push(`${type} ${metadata.name}`),
    onProgress: () => {},
  })
  const started = source.start({ signal: new AbortController().signal })
  await until('the handler takes the list and the watch is open', () => seen.length === 2)
  // The change comes before the next microtask after that in which the handler is done.
  taken.resolve()
  chunk.resolve({ value: toChunk(change), done: false })
  await nextTurn()
  assert.deepEqual(seen.slice(0, 3), ['replace', 'watch', 'ADDED b'])
  await started
})
