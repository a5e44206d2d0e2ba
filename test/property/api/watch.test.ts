import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startTestServer, take, type WatchLine } from '../../helpers/api-server.ts'
import { configMap, paths } from '../../helpers/manifests.ts'

type Step = { readonly kind: 'create' | 'relabel' | 'delete'; readonly name: string; readonly tier: string }

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('create' as const, 'relabel' as const, 'delete' as const),
  name: fc.constantFrom('a', 'b', 'c'),
  tier: fc.constantFrom('front', 'back'),
})

const selector = 'labelSelector=tier%3Dfront'

test('a watch from any revision, replayed on a list at that revision, gives the list of now, also under a selector', async () => {
  await using server = await startTestServer()
  const perform = ({ kind, name, tier }: Step) => {
    const path = `${paths.configMaps}/${name}`
    if (kind === 'create') return server.call('POST', paths.configMaps, { body: configMap(name, {}, { tier }) })
    if (kind === 'delete') return server.call('DELETE', path)
    const headers = { 'content-type': 'application/merge-patch+json' }
    return server.call('PATCH', path, { body: { metadata: { labels: { tier } } }, headers })
  }
  const marker = async () => {
    await server.call('DELETE', `${paths.configMaps}/marker`)
    await server.call('POST', paths.configMaps, { body: configMap('marker', {}, { tier: 'front' }) })
  }
  const list = async () => (await server.call('GET', `${paths.configMaps}?${selector}`)).body

  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), fc.array(step, { maxLength: 10 }), async (before, after) => {
      for (const each of before) await perform(each)
      const start = await list()
      const from = start.metadata.resourceVersion
      await Promise.all(after.map(perform))
      await marker()
      const state = new Map<string, unknown>(start.items.map((item: WatchLine['object']) => [item.metadata.name, item]))
      const events = server.watch(`${paths.configMaps}?watch=1&${selector}&resourceVersion=${from}`)
      const end = await list()
      for (let isAtEnd = false; !isAtEnd; ) {
        const [event] = await take(events, 1)
        assert.ok(event)
        const { name } = event.object.metadata
        assert.equal(event.type === 'ADDED', !state.has(name), `${event.type} ${name}`)
        if (event.type === 'DELETED') state.delete(name)
        else state.set(name, asItem(event.object))
        isAtEnd = event.type === 'ADDED' && event.object.metadata.resourceVersion === end.metadata.resourceVersion
      }
      await events.return(undefined)
      assert.deepEqual([...state.values()].toSorted(byName), end.items)
    }),
    { numRuns: 20 },
  )
})

/** An item of a list has no kind: the list says it. */
function asItem({ apiVersion: _, kind: __, ...item }: WatchLine['object']) {
  return item
}

function byName(a: unknown, b: unknown): number {
  const name = (item: unknown) => (item as WatchLine['object']).metadata.name
  return name(a) < name(b) ? -1 : 1
}
