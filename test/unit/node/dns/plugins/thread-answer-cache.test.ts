import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, mock, test } from 'node:test'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Series } from '../../../../../src/node/dns/metrics/series.ts'
import type { Client, ListenAddress } from '../../../../../src/node/dns/plugins/client.ts'
import type { ResolveRequest, ResolveResult } from '../../../../../src/node/dns/plugins/forward/resolve-request.ts'
import type { CachedCopy } from '../../../../../src/node/dns/plugins/handler.ts'
import type { ServedBlock } from '../../../../../src/node/dns/plugins/served-block.ts'
import {
  packResults,
  type RequestBatch,
  type SharedProgress,
  unpackRequests,
} from '../../../../../src/node/dns/resolver/batches.ts'
import { ResolveClient } from '../../../../../src/node/dns/resolver/resolve-client.ts'
import { Responder } from '../../../../../src/node/dns/serve/responder.ts'
import { encodeName } from '../../../../../src/node/dns/wire/name.ts'
import { ipOf } from '../../../../helpers/addresses.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { answerBytes, seeAnswer } from '../../../../helpers/upstream-messages.ts'

const block: ServedBlock = {
  id: '.:53',
  zones: [encodeName('.')],
  server: 'dns://:53',
  log: [],
  loadbalance: undefined,
  rewrite: [],
  template: [],
  hosts: undefined,
  kubernetes: undefined,
  cache: { zones: [encodeName('.')], keepTtl: false },
  forwards: true,
}
const listenAddress: ListenAddress = { address: ipOf('127.0.0.1'), port: 53, access: 'all', blocks: [0] }
const client: Client = { address: '127.0.0.1', port: 1000, transport: 'udp', listener: { current: listenAddress } }

// Hooks of this file hold for its own tests: the gate runs all unit tests in one process.
describe('the copies of answers that a thread keeps', () => {
  let elapsedMs = 0
  let requests = 0
  /** What the cache is said to hold, 10 s old, for 20 s more; nothing of a name that begins with `new`. */
  let kept: Omit<CachedCopy, 'message'> | undefined
  let line: ResolveClient
  let resolver: MessagePort
  let responder: Responder

  before(() => {
    mock.method(performance, 'now', () => elapsedMs)
    const { port1, port2 } = new MessageChannel()
    resolver = port2
    line = new ResolveClient()
    line.connect(port1)
    resolver.on('message', (message: RequestBatch | SharedProgress) => {
      if ('taken' in message) return
      const asked = unpackRequests(message)
      requests += asked.length
      resolver.postMessage(packResults(asked.map(answerOf)))
    })
  })
  after(() => {
    mock.restoreAll()
    line.close()
    resolver.close()
  })
  beforeEach(() => {
    requests = 0
    kept = { kind: 'success', ageMs: 10_000, leftMs: 20_000 }
    responder = new Responder({ resolve: (request) => line.resolve(request), writeLog: () => {} })
    configure()
  })

  function configure(changed: Partial<ServedBlock> = {}): void {
    responder.configure(
      { blocks: [{ ...block, ...changed }], addresses: [listenAddress], clusterSources: [], maxConnections: 1 },
      [],
    )
  }

  function answerOf({ id, question, wantsCopy }: ResolveRequest): ResolveResult {
    const message = new Uint8Array(answerBytes(Buffer.from(question), { addresses: ['192.0.2.1'], ttl: 30 }))
    const copy = wantsCopy && kept !== undefined && { copy: { ...kept, message } }
    return { id, message: new Uint8Array(message), plugin: 'cache', ageMs: 0, ...copy }
  }

  /** The records of the answer that is there at once; undefined where it has to be asked for. */
  function answerNow(name: string, id = 7): readonly string[] | undefined {
    const out = Buffer.alloc(1232)
    const query = makeQuery(name, 1, { id })
    const length = responder.respondNow(query, query.length, client, out)
    return length < 0 ? undefined : seeAnswer(out.subarray(0, length)).records
  }

  async function ask(name: string): Promise<void> {
    await responder.respondLater(makeQuery(name, 1), client)
  }

  function countOf(name: string, type?: string): number {
    const ofName = ({ name: own, labels }: Series) => own === name && (type === undefined || labels['type'] === type)
    const found = [...responder.series()].filter(ofName)
    return found.reduce((sum, series) => sum + (series.kind === 'histogram' ? 0 : series.value), 0)
  }

  test('a copy is given again without asking the cache, with its age, until it expires', async () => {
    assert.equal(answerNow('www.example.test.'), undefined)
    await ask('www.example.test.')
    assert.deepEqual(answerNow('WWW.example.test.'), ['A 192.0.2.1 20'])
    elapsedMs += 15_000
    assert.deepEqual(answerNow('www.example.test.'), ['A 192.0.2.1 5'])
    elapsedMs += 6_000
    assert.equal(answerNow('www.example.test.'), undefined)
    assert.equal(requests, 1)
  })

  test('a copy of an answer that another thread gave is given again', () => {
    const question = makeQuery('www.example.test.', 1)
    const message = answerBytes(question, { addresses: ['192.0.2.9'], ttl: 30 })
    responder.keepCopy('.:53', question, { message, kind: 'success', ageMs: 10_000, leftMs: 20_000 })
    assert.deepEqual(answerNow('www.example.test.'), ['A 192.0.2.9 20'])
    responder.keepCopy('another block', makeQuery('mail.example.test.', 1), {
      message,
      kind: 'success',
      ageMs: 0,
      leftMs: 1,
    })
    assert.equal(answerNow('mail.example.test.'), undefined)
    assert.equal(requests, 0)
  })

  test('other questions, and answers that are not cached, go to the cache', async () => {
    await ask('www.example.test.')
    assert.equal(answerNow('mail.example.test.'), undefined)
    kept = undefined
    await ask('once.example.test.')
    assert.equal(answerNow('once.example.test.'), undefined)
  })

  test('hits are counted like those of the cache, also over a reload, which drops the copies', async () => {
    await ask('www.example.test.')
    for (let count = 0; count < 3; count += 1) answerNow('www.example.test.')
    configure()
    assert.equal(answerNow('www.example.test.'), undefined)
    assert.equal(countOf('coredns_cache_hits_total', 'success'), 3)
    assert.equal(countOf('coredns_cache_requests_total'), 3)
    assert.equal(countOf('coredns_dns_requests_total', 'A'), 4)
  })

  test('a cache that prefetches gets every question: no copy of it is kept', async () => {
    configure({ cache: undefined })
    await ask('www.example.test.')
    assert.equal(answerNow('www.example.test.'), undefined)
  })
})
