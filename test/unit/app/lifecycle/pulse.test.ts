import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pulse, statusLine } from '../../../../src/app/lifecycle/pulse.ts'
import type { Component, Health } from '../../../../src/loop/component.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { until } from '../../../helpers/until.ts'

const ok: Health = { level: 'ok', message: '', sinceMs: 0 }

function part(name: string, examine?: () => Promise<string | undefined>, health: Health = ok): Component {
  return { name, start: async () => {}, stop: async () => {}, health: () => health, ...(examine && { examine }) }
}

describe('the pulse of a process', () => {
  const started: Pulse[] = []
  after(() => Promise.all(started.map((pulse) => pulse.stop({ signal: AbortSignal.timeout(1000) }))))

  /** A pulse of 5 ms, and how often it has beaten and looked. */
  async function pulseOf(examine: () => Promise<string | undefined>) {
    const seen = { beats: 0, looks: 0 }
    const counted = () => {
      seen.looks += 1
      return examine()
    }
    const beat = () => {
      seen.beats += 1
    }
    const parts = { components: [part('proxy', counted)], intervalMs: 5, examinationMs: 20, beat, log: silentLogger }
    const pulse = new Pulse(parts)
    started.push(pulse)
    await pulse.start()
    return { pulse, seen }
  }

  test('it beats often while its status changes, and seldom once it stays the same', async () => {
    let beats = 0
    const dns: Component = { ...part('dns'), health: () => ({ ...ok, message: `${Math.min(beats, 3)} names` }) }
    const beat = () => {
      beats += 1
    }
    const hourMs = 3_600_000
    const pulse = new Pulse({ components: [dns], intervalMs: 5, restMs: hourMs, beat, log: silentLogger })
    started.push(pulse)
    await pulse.start()
    await until('it has said for the second time that there are three', () => beats === 5)
    await sleep(50)
    assert.equal(beats, 5)
  })

  test('it beats while every part is well', async () => {
    const { seen, pulse } = await pulseOf(async () => undefined)
    await until('three beats', () => seen.beats >= 3)
    assert.equal(pulse.health().level, 'ok')
  })

  test('it stops when a part that was well is stuck, says which, and beats again when the part works', async () => {
    let problem: string | undefined
    const { seen, pulse } = await pulseOf(async () => problem)
    await until('a beat', () => seen.beats > 0)
    problem = 'a sync has not ended'
    await until('it noticed', () => pulse.health().level === 'degraded')
    assert.equal(pulse.health().message, 'proxy: a sync has not ended')
    const { beats, looks } = seen
    await until('it looked thrice', () => seen.looks >= looks + 3)
    assert.equal(seen.beats, beats)
    problem = undefined
    await until('it beats again', () => seen.beats > beats)
  })

  test('it stops when a part that was well no longer says how it is', async () => {
    let isHanging = false
    const { pulse, seen } = await pulseOf(() => (isHanging ? new Promise(() => {}) : Promise.resolve(undefined)))
    await until('a beat', () => seen.beats > 0)
    isHanging = true
    await until('it noticed', () => pulse.health().level === 'degraded')
    assert.match(pulse.health().message, /^proxy: it did not say within 20 ms/)
  })

  test('a part that never was well does not stop it: a restart would not help', async () => {
    const { seen } = await pulseOf(async () => 'DNS does not answer')
    await until('three beats', () => seen.beats >= 3)
  })
})

test('the status line names what does not work, else what each part says of itself', () => {
  const dns = part('dns', undefined, { ...ok, message: '12 names' })
  assert.equal(statusLine([part('proxy'), dns]), 'dns: 12 names')
  const broken = part('proxy', undefined, { level: 'degraded', message: 'retry in 2 s', sinceMs: 0 })
  assert.equal(statusLine([broken, dns]), 'proxy degraded: retry in 2 s')
  assert.equal(statusLine([part('proxy')]), 'all parts work')
})
