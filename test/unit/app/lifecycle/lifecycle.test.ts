import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lifecycle, LifecycleError } from '../../../../src/app/lifecycle/lifecycle.ts'
import type { Component } from '../../../../src/loop/component.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'

const options = { log: silentLogger, startDeadlineMs: 50, stopDeadlineMs: 50 }

function recording(name: string, calls: string[], overrides: Partial<Component> = {}): Component {
  return {
    name,
    start: async () => void calls.push(`start ${name}`),
    stop: async () => void calls.push(`stop ${name}`),
    health: () => ({ level: 'ok', message: 'fine', sinceMs: 0 }),
    ...overrides,
  }
}

test('components start in order and stop in reverse, once', async () => {
  const calls: string[] = []
  const lifecycle = new Lifecycle([recording('a', calls), recording('b', calls)], options)
  await lifecycle.start()
  await lifecycle.stop()
  await lifecycle.stop()
  assert.deepEqual(calls, ['start a', 'start b', 'stop b', 'stop a'])
})

test('a failed start stops what was started before, itself included, and names the component', async () => {
  const calls: string[] = []
  const broken = recording('broken', calls, { start: () => Promise.reject(new Error('port in use')) })
  const lifecycle = new Lifecycle([recording('a', calls), broken, recording('c', calls)], options)
  await assert.rejects(
    lifecycle.start(),
    (error: LifecycleError) => error.code === 'start-failed' && error.object === 'broken',
  )
  assert.deepEqual(calls, ['start a', 'stop broken', 'stop a'])
})

test('a start that hangs ends at its deadline', async () => {
  const hanging = recording('slow', [], { start: () => new Promise(() => {}) })
  await assert.rejects(new Lifecycle([hanging], options).start(), (error: LifecycleError) => {
    return error.cause instanceof LifecycleError && error.cause.code === 'deadline-exceeded'
  })
})

test('a stop that fails or hangs does not keep the others from stopping', async () => {
  const calls: string[] = []
  const failing = recording('failing', calls, { stop: () => Promise.reject(new Error('no')) })
  const hanging = recording('hanging', calls, { stop: () => new Promise(() => {}) })
  const lifecycle = new Lifecycle([recording('a', calls), failing, hanging], options)
  await lifecycle.start()
  await lifecycle.stop()
  assert.deepEqual(calls.at(-1), 'stop a')
})
