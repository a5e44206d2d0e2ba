import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatProblem, LiveNodeState, type WatchedResource } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { dialect, type WireFixture, wireEndpoints, wireService, wireSlice } from '../../../helpers/wire-objects.ts'

class Fixture {
  readonly state = new LiveNodeState(silentLogger)
  readonly changes: string[] = []

  constructor() {
    this.state.subscribe(({ revision, services }) =>
      this.changes.push(`${revision}: ${[...services].toSorted().join(' ')}`),
    )
  }

  replace(resource: WatchedResource, resourceVersion: string, ...objects: WireFixture[]): void {
    const parsed = objects.map((object) => readObject(resource, object, dialect))
    this.state.replace(resource, parsed, resourceVersion)
  }

  upsert(resource: WatchedResource, object: WireFixture): void {
    this.state.upsert(resource, readObject(resource, object, dialect))
  }

  sync(): this {
    this.replace('services', '10', wireService('web', '1'), wireService('db', '2'))
    this.replace('endpointslices', '10', wireSlice('web-1', 'web', '3'))
    this.replace(
      'endpoints',
      '10',
      wireEndpoints('web', '4', [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 1 }] }]),
    )
    return this
  }

  /** Every Service with the slices that count, as one comparable text. */
  content(): string {
    const keys = [...this.state.serviceKeys()].toSorted()
    return JSON.stringify(keys.map((key) => [this.state.service(key), this.state.slicesOf(key)]))
  }

  sources(service: string): string[] {
    return this.state.slicesOf(service).map(({ source }) => source)
  }
}

describe('the node state', () => {
  it('says nothing before every resource has been listed, then names all Services at once', () => {
    const fixture = new Fixture()
    assert.equal(fixture.state.synced, false)
    fixture.sync()
    assert.deepEqual(fixture.changes, ['1: default/db default/web'])
    assert.deepEqual([fixture.state.synced, fixture.state.revision], [true, 1])
  })

  it('is the same whether the first list was prepared in parts or came at once', () => {
    const [prepared, atOnce] = [new Fixture(), new Fixture().sync()]
    for (const service of [wireService('web', '1'), wireService('gone', '1')])
      prepared.state.prepare('services', [readObject('services', service, dialect)])
    assert.deepEqual([prepared.changes, prepared.state.synced], [[], false])
    prepared.sync()
    assert.deepEqual(prepared.changes, atOnce.changes)
    assert.equal(prepared.content(), atOnce.content())
    prepared.state.prepare('services', [
      readObject('services', wireService('web', '99', { clusterIP: '10.96.0.9' }), dialect),
    ])
    assert.equal(prepared.content(), atOnce.content())
  })

  it('holds a change back when it comes before the first sync', () => {
    const fixture = new Fixture()
    fixture.replace('services', '1')
    fixture.upsert('services', wireService('web', '2'))
    fixture.replace('endpointslices', '1')
    assert.deepEqual([fixture.changes, fixture.state.synced], [[], false])
    fixture.replace('endpoints', '1')
    assert.deepEqual(fixture.changes, ['1: default/web'])
  })

  it('counts a step for each change and names the Services it touched', () => {
    const fixture = new Fixture().sync()
    fixture.upsert('services', wireService('web', '11', { externalTrafficPolicy: 'Local' }))
    fixture.upsert('endpointslices', wireSlice('db-1', 'db', '12'))
    fixture.state.remove('services', 'default/db', '13')
    assert.deepEqual(fixture.changes.slice(1), ['2: default/web', '3: default/db', '4: default/db'])
    assert.equal(fixture.state.service('default/web')?.externalTrafficPolicy, 'Local')
    assert.deepEqual([...fixture.state.serviceKeys()], ['default/web'])
    assert.deepEqual(fixture.sources('default/db'), ['endpointslices/default/db-1'])
  })

  it('makes no step of a version that says the same, nor of a relist', () => {
    const fixture = new Fixture().sync()
    const content = fixture.content()
    fixture.upsert('services', wireService('web', '11', {}, { team: 'blue' }))
    fixture.replace('services', '12', wireService('db', '2'), wireService('web', '11'))
    fixture.state.remove('services', 'default/nothing', '13')
    fixture.state.progress('services', '14')
    assert.deepEqual([fixture.changes.length, fixture.content()], [1, content])
    assert.equal(fixture.state.seen('services'), '14')
  })

  it('makes one step of a list that differs', () => {
    const fixture = new Fixture().sync()
    fixture.replace('services', '20', wireService('web', '11', { clusterIP: '10.96.0.99' }), wireService('new', '12'))
    assert.deepEqual(fixture.changes.slice(1), ['2: default/db default/new default/web'])
  })

  it('moves a slice that changes its Service, touching both', () => {
    const fixture = new Fixture().sync()
    fixture.upsert('endpointslices', wireSlice('web-1', 'db', '11'))
    assert.deepEqual(fixture.changes.slice(1), ['2: default/db default/web'])
    assert.deepEqual(fixture.sources('default/db'), ['endpointslices/default/web-1'])
  })

  it('uses Endpoints only where a Service has no slice', () => {
    const fixture = new Fixture().sync()
    fixture.upsert('endpoints', wireEndpoints('web', '11', [{ addresses: [{ ip: '10.9.9.8' }], ports: [{ port: 1 }] }]))
    assert.deepEqual(fixture.changes.length, 1)
    fixture.state.remove('endpointslices', 'default/web-1', '12')
    assert.deepEqual(fixture.sources('default/web'), ['endpoints/default/web/0/IPv4'])
    assert.equal(fixture.state.slicesOf('default/web')[0]?.endpoints[0]?.address, '10.9.9.8')
    fixture.upsert('endpointslices', wireSlice('web-0', 'web', '13'))
    fixture.upsert('endpointslices', wireSlice('web-00', 'web', '14'))
    assert.deepEqual(fixture.sources('default/web'), ['endpointslices/default/web-0', 'endpointslices/default/web-00'])
    assert.deepEqual(fixture.changes.slice(1), ['2: default/web', '3: default/web', '4: default/web'])
  })

  it('changes with an object, and is as before when the object has its earlier content in a later version', () => {
    const fixture = new Fixture().sync()
    const before = fixture.content()
    fixture.upsert('services', wireService('web', '11', { type: 'NodePort' }))
    assert.notEqual(fixture.content(), before)
    fixture.upsert('services', wireService('web', '12'))
    assert.equal(fixture.content(), before)
  })

  it('drops an object whose new version makes no sense, and keeps its problems until it goes', () => {
    const fixture = new Fixture().sync()
    fixture.upsert('services', { metadata: { name: 'web', namespace: 'default', resourceVersion: '11' }, spec: 7 })
    assert.equal(fixture.state.service('default/web'), undefined)
    assert.deepEqual([...fixture.state.problems()].map(formatProblem), [
      'Service default/web: spec: expected an object, found 7',
    ])
    fixture.state.remove('services', 'default/web', '12')
    assert.deepEqual([[...fixture.state.problems()], fixture.state.problemCount], [[], 1])
  })

  it('calls every listener though one throws, and none after it has left', () => {
    const errors: string[] = []
    const state = new LiveNodeState({ ...silentLogger, error: (message) => errors.push(message) })
    const seen: number[] = []
    state.subscribe(() => {
      throw new Error('broken')
    })
    const leave = state.subscribe(({ revision }) => seen.push(revision))
    for (const resource of ['services', 'endpointslices', 'endpoints'] as const) state.replace(resource, [], '1')
    leave()
    state.upsert('services', readObject('services', wireService('web', '2'), dialect))
    assert.deepEqual(seen, [1])
    assert.equal(errors.length, 2)
  })
})
