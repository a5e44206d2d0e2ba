import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { AppliedError, AppliedRevisions, LiveNodeState } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { dialect, wireService } from '../../../helpers/wire-objects.ts'

const resources = ['services', 'endpointslices', 'endpoints'] as const
const open = { signal: new AbortController().signal }

function setUp(...planes: string[]) {
  const state = new LiveNodeState(silentLogger)
  const applied = new AppliedRevisions(state)
  for (const plane of planes) applied.register(plane)
  const sync = () => {
    for (const resource of resources) state.replace(resource, [], '10')
  }
  return { state, applied, sync }
}

function upsert(state: LiveNodeState, name: string, resourceVersion: string): void {
  state.upsert('services', readObject('services', wireService(name, resourceVersion), dialect))
}

/** Whether the wait is over after everything that is due has run. */
async function isOver(wait: Promise<void>): Promise<boolean> {
  let over = false
  void wait.then(() => {
    over = true
  })
  await setImmediate()
  return over
}

describe('applied revisions', () => {
  it('end a wait when the change was seen and every plane has applied it', async () => {
    const { state, applied, sync } = setUp('proxy', 'dns')
    const wait = applied.waitUntilApplied('services', '12', open)
    sync()
    applied.publish('proxy', 1)
    applied.publish('dns', 1)
    assert.equal(await isOver(wait), false)
    upsert(state, 'web', '12')
    assert.equal(await isOver(wait), false)
    applied.publish('proxy', 2)
    assert.equal(await isOver(wait), false)
    applied.publish('dns', 2)
    assert.equal(await isOver(wait), true)
  })

  it('do not end a wait before the first sync has been applied', async () => {
    const { applied, sync } = setUp('proxy')
    const wait = applied.waitUntilApplied('services', '5', open)
    sync()
    assert.equal(await isOver(wait), false)
    applied.publish('proxy', 1)
    assert.equal(await isOver(wait), true)
  })

  it('end a wait for a change that changed nothing here, or that a bookmark has passed', async () => {
    const { state, applied, sync } = setUp('proxy')
    sync()
    applied.publish('proxy', 1)
    const wait = applied.waitUntilApplied('endpointslices', '99999999999999999999', open)
    state.progress('endpointslices', '99999999999999999998')
    assert.equal(await isOver(wait), false)
    state.progress('endpointslices', '100000000000000000000')
    assert.equal(await isOver(wait), true)
  })

  it('are not behind because of what came later', async () => {
    const { state, applied, sync } = setUp('proxy')
    sync()
    const wait = applied.waitUntilApplied('services', '11', open)
    upsert(state, 'web', '11')
    upsert(state, 'db', '12')
    applied.publish('proxy', 2)
    assert.equal(await isOver(wait), true)
  })

  it('never go back', async () => {
    const { applied, sync } = setUp('proxy')
    sync()
    applied.publish('proxy', 5)
    applied.publish('proxy', 1)
    assert.equal(applied.report().planes['proxy'], 5)
  })

  it('let a waiter give up', async () => {
    const { applied } = setUp('proxy')
    const controller = new AbortController()
    const wait = applied.waitUntilApplied('services', '5', controller)
    controller.abort(new Error('enough'))
    await assert.rejects(wait, /enough/)
    await assert.rejects(applied.waitUntilApplied('services', '5', controller), /enough/)
  })

  it('refuse a resourceVersion that is none and a plane they do not know', async () => {
    const { applied } = setUp('proxy')
    await assert.rejects(
      applied.waitUntilApplied('services', '1x', open),
      /expected a decimal resourceVersion, found "1x"/,
    )
    assert.throws(() => applied.publish('dns', 1), /the plane dns is not registered/)
    assert.throws(() => applied.register('proxy'), /registered twice/)
    assert.throws(() => applied.register('proxy'), AppliedError)
  })

  it('are not waited for in a family that fails, where the other serves what is waited for', async () => {
    const { state, applied, sync } = setUp('dns')
    applied.register('proxy', 'IPv4')
    applied.register('proxy-ipv6', 'IPv6')
    sync()
    for (const plane of ['dns', 'proxy', 'proxy-ipv6']) applied.publish(plane, 1)
    const pod = { key: 'default/both', uid: 'u1', containerId: 'c1', ips: ['10.244.0.5', 'fd00::5'].map(ipOf) }
    const [ofIpv4, ofBoth] = [applied.waitUntilApplied('services', '12', open), applied.waitUntilPodApplied('c1', open)]
    upsert(state, 'web', '12')
    state.announcePod(pod)
    applied.publish('dns', 3)
    applied.fail('proxy-ipv6')
    assert.deepEqual([await isOver(ofIpv4), await isOver(ofBoth)], [false, false], 'IPv4 has not applied it')
    applied.publish('proxy', 3)
    assert.deepEqual([await isOver(ofIpv4), await isOver(ofBoth)], [true, true])
    assert.deepEqual(applied.report().failing, ['proxy-ipv6'])

    applied.publish('proxy-ipv6', 3)
    applied.fail('proxy')
    state.upsert('services', readObject('services', wireService('web', '13', { ports: [{ port: 81 }] }), dialect))
    const afterwards = applied.waitUntilApplied('services', '13', open)
    const superseded = applied.waitUntilApplied('services', '12', open)
    for (const plane of ['dns', 'proxy-ipv6']) applied.publish(plane, 4)
    assert.equal(await isOver(afterwards), false, 'a Service of IPv4 needs IPv4')
    assert.equal(await isOver(superseded), false, 'a forgotten revision waits for all')
    applied.publish('proxy', 4)
    assert.deepEqual([await isOver(afterwards), await isOver(superseded)], [true, true])
  })

  it('report what was seen and what each plane has applied', () => {
    const { state, applied, sync } = setUp('proxy', 'dns')
    sync()
    state.progress('services', '17')
    applied.publish('proxy', 1)
    assert.deepEqual(applied.report(), {
      revision: 1,
      planes: { proxy: 1, dns: 0 },
      failing: [],
      seen: { services: '17', endpointslices: '10', endpoints: '10' },
    })
  })
})
