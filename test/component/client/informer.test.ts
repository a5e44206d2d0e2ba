import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiClient, accessByServer, type InformerHandler } from '../../../src/client/index.ts'
import {
  broken,
  ended,
  endedLater,
  event,
  forever,
  giving,
  informerOf,
  list,
  Notes,
  object,
  quick,
  run,
  script,
  watching,
  watchVersions,
} from '../../helpers/scripted-informer.ts'
import {
  type Answer,
  clientOf,
  ScriptedServer,
  sendJson,
  startServer,
  statusBody,
} from '../../helpers/scripted-server.ts'
import { until } from '../../helpers/until.ts'

describe('an informer', () => {
  it('lists, then watches from the resourceVersion of the list with bookmarks and a time limit', async () => {
    const lines = [event('ADDED', 'b', '6'), event('MODIFIED', 'a', '7'), event('DELETED', 'a', '8')]
    await run(script([giving(list('5', 'a'))], [watching(lines)]), async (notes, server, informer) => {
      await until('all events are there', () => notes.lines.length === 4)
      assert.deepEqual(notes.lines, ['replace a @5', 'ADDED b @6', 'MODIFIED a @7', 'DELETED a @8'])
      const watch = server.requests[1] ?? ''
      assert.match(watch, /watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=(\d+)$/)
      const seconds = Number(/\d+$/.exec(watch)?.[0])
      assert.ok(seconds >= 300 && seconds <= 600)
      assert.equal(informer.health().level, 'ok')
    })
  })

  it('goes on after the last event or bookmark when the connection breaks', async () => {
    const answer = script(
      [giving(list('5', 'a'))],
      [
        watching([event('ADDED', 'b', '6')], broken),
        watching([event('BOOKMARK', '', '60')], broken),
        watching([event('ADDED', 'c', '61').slice(0, 20)], broken),
        watching([event('ADDED', 'c', '61')]),
      ],
    )
    await run(answer, async (notes, server) => {
      await until('the last event is there', () => notes.lines.includes('ADDED c @61'))
      assert.deepEqual(notes.lines, ['replace a @5', 'ADDED b @6', 'progress @60', 'ADDED c @61'])
      assert.deepEqual(watchVersions(server), ['5', '6', '60', '60'])
    })
  })

  it('goes on at once when the server ends a watch in its own time', async () => {
    const answer = script([giving(list('5'))], [watching([], endedLater), watching([event('ADDED', 'b', '6')])])
    const slow = { backoffBaseMs: 60_000, backoffMaxMs: 60_000 }
    await run(answer, (notes) => until('the event is there', () => notes.lines.includes('ADDED b @6')), slow)
  })

  it('lists again when the history is gone, as an HTTP status or as an event', async () => {
    const gone = statusBody(410, 'Expired', 'too old resource version')
    const error = `${JSON.stringify({ type: 'ERROR', object: gone })}\n`
    const answer = script(
      [giving(list('5', 'a')), giving(list('20', 'b')), giving(list('30', 'c'))],
      [giving(gone, 410), watching([error], ended), watching([event('ADDED', 'd', '31')])],
    )
    await run(answer, async (notes, server) => {
      await until('the event is there', () => notes.lines.length === 4)
      assert.deepEqual(notes.lines, ['replace a @5', 'replace b @20', 'replace c @30', 'ADDED d @31'])
      assert.deepEqual(watchVersions(server), ['5', '20', '30'])
    })
  })

  it('lists again after a line it cannot read, and after a resourceVersion from the future', async () => {
    const future = statusBody(504, 'Timeout', 'Too large resource version', {
      causes: [{ reason: 'ResourceVersionTooLarge' }],
    })
    const answer = script(
      [giving(list('5')), giving(list('6')), giving(list('2'))],
      [watching(['garbage\n']), giving(future, 504), watching([event('ADDED', 'd', '3')])],
    )
    await run(answer, async (notes) => {
      await until('the event is there', () => notes.lines.length === 4)
      assert.deepEqual(notes.lines, ['replace  @5', 'replace  @6', 'replace  @2', 'ADDED d @3'])
    })
  })

  it('lists again where a server comes back with the state of a backup, and watches on where it does not', async () => {
    const lists = [giving(list('500', 'a', 'b')), giving(list('400', 'a'))]
    const watches = [watching([], broken), watching([event('ADDED', 'c', '401')], broken), watching([])]
    await run(script(lists, watches, '401'), async (notes, server) => {
      await until('the third watch is open', () => watchVersions(server).length === 3)
      assert.deepEqual(notes.lines, ['replace a,b @500', 'replace a @400', 'ADDED c @401'])
      assert.deepEqual(watchVersions(server), ['500', '400', '401'])
    })
  })

  it('lists again where a server comes back with the state of a backup and nothing but silence says so', async () => {
    const answer = script([giving(list('500', 'a', 'b')), giving(list('400', 'a'))], [watching([])], '400')
    await run(
      answer,
      async (notes, server, informer) => {
        await until('the watch after the second list is open', () => watchVersions(server).length >= 2)
        assert.deepEqual(notes.lines, ['replace a,b @500', 'replace a @400'])
        assert.deepEqual(watchVersions(server).slice(0, 2), ['500', '400'])
        assert.equal(informer.health().level, 'ok')
      },
      { idleTimeoutMs: 200 },
    )
  })

  it('skips an object without identity and keeps the others', async () => {
    const items = [{ metadata: {} }, null, object('a', '1'), { metadata: { name: 'x', resourceVersion: 'abc' } }]
    const lines = [
      `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 3 } } })}\n`,
      event('ADDED', 'b', '6'),
    ]
    const answer = script([giving({ metadata: { resourceVersion: '5' }, items })], [watching(lines)])
    await run(answer, async (notes) => {
      await until('the event is there', () => notes.lines.length === 2)
      assert.deepEqual(notes.lines, ['replace a @5', 'ADDED b @6'])
    })
  })

  it('waits longer and longer while watches end at once, and says that it is not well', async () => {
    const answer = script([giving(list('5'))], [watching([], ended)])
    const timing = { backoffBaseMs: 20, backoffMaxMs: 10_000 }
    await run(
      answer,
      async (_, server, informer) => {
        await sleep(400)
        // Delays of at least 10, 20, 40, 80, 160 and 320 ms leave room for six watches, not for hundreds.
        assert.ok(watchVersions(server).length <= 6, `${watchVersions(server).length} watches`)
        assert.ok(watchVersions(server).length >= 2)
        assert.equal(informer.health().level, 'degraded')
        assert.match(informer.health().message, /ended at once/)
      },
      timing,
    )
  })

  it('retries soon while the server does not listen, however long it waits after other faults', async () => {
    const answer = script([giving(list('5'))], [watching([event('ADDED', 'b', '6')])])
    const timing = { backoffBaseMs: 3_600_000, backoffMaxMs: 3_600_000, refusedMaxMs: 20 }
    await using server = new ScriptedServer(answer)
    await server.up()
    await server.down()
    const client = clientOf(server)
    const notes = new Notes()
    const informer = informerOf(client, notes, timing)
    const started = informer.start(forever)
    await until('it was refused', () => informer.health().level === 'degraded')
    await server.up()
    await started
    await until('it is in step', () => notes.lines.includes('ADDED b @6'), 30_000)
    await informer.stop()
    client.close()
  })

  it('stays away as long as a 429 asks', async () => {
    const busy: Answer = (_, response) =>
      sendJson(response, statusBody(429, 'TooManyRequests', 'busy'), 429, { 'retry-after': '1' })
    const answer = script([giving(list('5'))], [busy, watching([event('ADDED', 'b', '6')])])
    const startedMs = performance.now()
    await run(answer, (notes) => until('the event is there', () => notes.lines.length === 2))
    assert.ok(performance.now() - startedMs >= 1000)
  })

  it('opens the watch again when the connection is half-dead, without being unwell', async () => {
    const answer = script([giving(list('5'))], [watching([]), watching([event('ADDED', 'b', '6')])])
    const timing = { idleTimeoutMs: 200 }
    await run(
      answer,
      async (notes, server, informer) => {
        await until('the event is there', () => notes.lines.includes('ADDED b @6'))
        assert.deepEqual(watchVersions(server), ['5', '5'])
        assert.equal(informer.health().level, 'ok')
      },
      timing,
    )
  })

  it('survives the restart of the server', async () => {
    const answer = script([giving(list('5', 'a'))], [watching([]), watching([event('ADDED', 'b', '6')])])
    await run(answer, async (notes, server, informer) => {
      await until('the watch is open', () => server.requests.length === 2)
      await server.down()
      await until('the informer notices', () => informer.health().level === 'degraded')
      assert.match(informer.health().message, /services/)
      await server.up()
      await until('the event is there', () => notes.lines.includes('ADDED b @6'))
      assert.deepEqual(notes.lines, ['replace a @5', 'ADDED b @6'])
      assert.equal(informer.health().level, 'ok')
    })
  })

  it('says how old its copy is while the server is away, and that it is in step once a silent watch is open again', async () => {
    const answer = script([giving(list('5', 'a'))], [watching([])])
    await run(answer, async (notes, server, informer) => {
      await until('the watch is open', () => server.requests.length === 2)
      assert.equal(informer.staleMs, 0)
      await server.down()
      await until('the informer notices', () => informer.health().level === 'degraded')
      await until('the copy is old', () => informer.staleMs > 300)
      await server.up()
      await until('it is in step', () => informer.health().level === 'ok')
      assert.equal(informer.staleMs, 0)
      assert.deepEqual(notes.lines, ['replace a @5'])
    })
  })

  it('says that its copy is old where a server takes no watch any more and keeps its connections', async () => {
    const answer = script([giving(list('5', 'a'))], [watching([]), () => {}])
    const timing = { idleTimeoutMs: 200 }
    await run(
      answer,
      async (_, server, informer) => {
        await until('the next watch is asked for', () => watchVersions(server).length >= 2)
        await until('the copy is old', () => informer.staleMs > 200)
      },
      timing,
    )
  })

  it('goes on with the next of several servers when one is gone or silent, from where it was', async () => {
    const first = await startServer(script([giving(list('5', 'a'))], [watching([])]))
    await using second = await startServer(script([], [watching([event('ADDED', 'b', '6')]), watching([])]))
    const client = new ApiClient(accessByServer(first.url, second.url))
    const notes = new Notes()
    const informer = informerOf(client, notes, { idleTimeoutMs: 300 })
    await informer.start(forever)
    await until('the watch is open', () => first.requests.length === 2)
    await first.down()
    await until('the event is there', () => notes.lines.includes('ADDED b @6'))
    assert.deepEqual(watchVersions(second)[0], '5')
    await first.up()
    await until('the silent second was left', () => watchVersions(first).length === 2)
    assert.deepEqual(watchVersions(first)[1], '6')
    await informer.stop()
    await first.down()
    client.close()
  })

  it('starts before its server does', async () => {
    await using server = await startServer(script([giving(list('5', 'a'))], [watching([])]))
    const client = clientOf(server)
    await server.down()
    const notes = new Notes()
    const informer = informerOf(client, notes)
    const started = informer.start(forever)
    await until('the informer has tried', () => informer.health().level === 'degraded')
    await server.up()
    await started
    assert.deepEqual(notes.lines, ['replace a @5'])
    await informer.stop()
  })

  it('gives up its start at the deadline, saying why', async () => {
    await using server = await startServer(giving(statusBody(403, 'Forbidden', 'not you'), 403))
    const informer = informerOf(clientOf(server), new Notes())
    const started = informer.start({ signal: AbortSignal.timeout(100) })
    await assert.rejects(started, /services could not be listed in time: .*403 Forbidden: not you/)
    await informer.stop()
    assert.equal(informer.health().level, 'stopped')
  })

  it('stops at once in the middle of a watch, a list or a wait, and is silent after', async () => {
    for (const answer of [
      script([giving(list('5'))], [watching([])]),
      script([giving(list('5')), () => {}], [giving(statusBody(410, 'Expired', 'gone'), 410)]),
      script([giving(list('5'))], [giving(statusBody(503, 'ServiceUnavailable', 'away'), 503)]),
    ]) {
      await run(answer, async (notes, server, informer) => {
        await until('the watch was asked for', () => watchVersions(server).length > 0)
        await sleep(30)
        const startedMs = performance.now()
        await informer.stop()
        await informer.stop()
        assert.ok(performance.now() - startedMs < quick.idleTimeoutMs / 2)
        const said = notes.lines.length
        // One request may have been on its way.
        await sleep(50)
        const asked = server.requests.length
        await sleep(60)
        assert.deepEqual([notes.lines.length, server.requests.length], [said, asked])
      })
    }
  })

  it('gives its handler time: the watch begins when the list has been taken', async () => {
    await using server = await startServer(script([giving(list('5'))], [watching([event('ADDED', 'b', '6')])]))
    const order: string[] = []
    const handler: InformerHandler = {
      onReplace: async () => {
        await sleep(50)
        order.push('replaced')
      },
      onEvent: () => void order.push('event'),
      onProgress: () => {},
    }
    const informer = informerOf(clientOf(server), handler)
    await informer.start(forever)
    await until('the event is there', () => order.length === 2)
    assert.deepEqual(order, ['replaced', 'event'])
    await informer.stop()
  })
})
