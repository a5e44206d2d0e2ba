import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { discover } from '../../../../src/api/discovery/discovery.ts'
import { configMaps } from '../../../../src/api/resources/config-maps.ts'
import { Registry } from '../../../../src/api/resources/registry.ts'
import type { Resource } from '../../../../src/api/resources/resource.ts'

const widget: Resource = {
  ...configMaps(),
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  singular: 'widget',
  shortNames: ['wd'],
  categories: ['all'],
  subresources: ['status'],
  storage: { prefix: 'example.com/widgets', apiVersion: 'example.com/v1' },
}

function registryOf(...resources: readonly Resource[]): Registry {
  const registry = new Registry()
  for (const resource of resources) registry.add(resource)
  return registry
}

describe('discovery', () => {
  test('tells of a resource all that clients map names by', () => {
    const { resources } = discover(registryOf(widget), ['apis', 'example.com', 'v1'], undefined) as {
      resources: unknown[]
    }
    const [entry, status] = resources as Record<string, unknown>[]
    const { storageVersionHash, ...described } = entry ?? {}
    assert.match(String(storageVersionHash), /^[A-Za-z0-9+/]{11}=$/)
    assert.deepEqual(described, {
      name: 'widgets',
      singularName: 'widget',
      namespaced: true,
      kind: 'Widget',
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['wd'],
      categories: ['all'],
    })
    const expected = {
      name: 'widgets/status',
      singularName: '',
      namespaced: true,
      kind: 'Widget',
      verbs: ['get', 'patch', 'update'],
    }
    assert.deepEqual(status, expected)
  })

  test('two versions over one storage have one storage version hash', () => {
    const registry = registryOf(widget, { ...widget, version: 'v1beta1' })
    const hashes = ['v1', 'v1beta1'].map((version) => {
      const list = discover(registry, ['apis', 'example.com', version], undefined) as {
        resources: { storageVersionHash: string }[]
      }
      return list.resources[0]?.storageVersionHash
    })
    assert.equal(hashes[0], hashes[1])
  })

  const preferredOf = (...resources: readonly Resource[]): readonly string[] => {
    const group = discover(registryOf(...resources), ['apis', 'example.com'], undefined) as {
      versions: { version: string }[]
    }
    return group.versions.map(({ version }) => version)
  }

  test('the preferred version is the most stable one, unless a resource says otherwise', () => {
    assert.deepEqual(preferredOf({ ...widget, version: 'v1beta1' }, widget), ['v1', 'v1beta1'])
    assert.deepEqual(preferredOf(widget, { ...widget, version: 'v1beta1', isPreferred: true }), ['v1beta1', 'v1'])
  })
})
