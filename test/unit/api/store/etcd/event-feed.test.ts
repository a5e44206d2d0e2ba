import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { EtcdClient } from '../../../../../src/api/store/etcd/etcd-client.ts'
import { EventFeed } from '../../../../../src/api/store/etcd/event-feed.ts'
import { KeySpace } from '../../../../../src/api/store/etcd/key-space.ts'
import { silentLogger } from '../../../../../src/observe/index.ts'

/** A watch that a member begins at once and that lasts until it is cancelled. */
class FakeStream extends EventEmitter {
  write(): void {
    queueMicrotask(() => this.emit('data', { created: true }))
  }
  cancel(): void {
    queueMicrotask(() => this.emit('error', new Error('cancelled')))
  }
}

test('A watch that opens while the feed is stopped is ended.', { timeout: 10_000 }, async () => {
  const opening = Promise.withResolvers<unknown>()
  const client = { endpoint: 'a', onLeave: () => {}, leave: () => {}, openWatch: () => opening.promise }
  const observer = { onCommit: () => {}, onProgress: () => {}, onCompacted: async () => 0 }
  const feed = new EventFeed(client as unknown as EtcdClient, new KeySpace('/test/'), 0, observer, silentLogger)
  feed.start()
  const stopped = feed.stop()
  opening.resolve({ endpoint: 'a', token: undefined, stream: new FakeStream() })
  await stopped
  assert.ok(feed.outage)
})
