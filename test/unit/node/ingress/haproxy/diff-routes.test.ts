import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diffRoutes } from '../../../../../src/node/ingress/haproxy/diff-routes.ts'
import type { HostEntries } from '../../../../../src/node/ingress/haproxy/map-entries.ts'

const host = 'a.example.com'
const paths = ['', '/a', '/a/b', '/a/b/c', '/d']
const requests = ['/', '/a', '/a/b', '/a/b/c', '/a/b/c/d', '/d', '/e']

type Maps = Map<string, Map<string, string>>

/** Gives the maps one line of a command, as haproxy does between two requests. */
function* steps(maps: Maps, commands: readonly { readonly text: string }[]): Generator<void> {
  for (const { text } of commands) {
    const [head = '', ...payload] = text.split('\n').filter((line) => line !== '')
    const [verb, , file = '', key = '', value = ''] = head.split(' ')
    const map = maps.get(file) ?? assert.fail(`no map ${file}`)
    const lines = verb === 'add' ? payload.map((line) => line.split(' ')) : [[key, value]]
    for (const [name = '', content = ''] of lines) {
      if (verb === 'del') map.delete(name)
      else map.set(name, content)
      yield
    }
  }
}

/** The rules of haproxy: the longest key, else what serves a host that is or is not known. */
function answer(maps: Maps, path: string): string {
  const text = `${host}${path}/#`
  const keys = [...(maps.get('paths.map')?.keys() ?? [])].filter((key) => text.startsWith(key))
  const [longest] = keys.sort((one, other) => other.length - one.length)
  if (longest !== undefined) return maps.get('paths.map')?.get(longest) ?? ''
  return maps.get('hosts.map')?.has(host) ? 'the host has no such path' : 'the host is not known'
}

function mapsOf(entries: HostEntries | undefined): Maps {
  const maps: Maps = new Map(['hosts.map', 'paths.map'].map((name) => [name, new Map()]))
  const wanted = new Map(entries === undefined ? [] : [[host, entries] as const])
  const empty = { routes: new Map() }
  for (const _ of steps(maps, diffRoutes(empty, wanted, [host]).before));
  return maps
}

const values = fc.dictionary(fc.constantFrom(...paths), fc.constantFrom('one', 'two', 'three'))
const entriesOf = fc.record({ exact: values, prefix: values }).map(
  ({ exact, prefix }): HostEntries => ({
    exact: new Map(Object.entries(exact).filter(([path]) => path !== '')),
    prefix: new Map(Object.entries(prefix)),
  }),
)

test('At each moment of a change a request has the answer of before or of after', () => {
  fc.assert(
    fc.property(fc.option(entriesOf), fc.option(entriesOf), (before, after) => {
      const routes = (entries: HostEntries | null) => new Map(entries === null ? [] : [[host, entries] as const])
      const [old, next] = [mapsOf(before ?? undefined), mapsOf(after ?? undefined)]
      const change = diffRoutes({ routes: routes(before) }, routes(after), [host])
      const maps = mapsOf(before ?? undefined)
      for (const _ of steps(maps, [...change.before, ...change.after]))
        for (const path of requests)
          assert.ok(
            [answer(old, path), answer(next, path)].includes(answer(maps, path)),
            `${path}: ${answer(maps, path)}`,
          )
      assert.deepEqual(maps, next)
    }),
    { numRuns: 500 },
  )
})
