import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Component, HealthLevel } from '../../../src/loop/component.ts'
import { answerHealth, type HealthRequest } from '../../../src/observe/index.ts'

function component(name: string, level: HealthLevel, message = ''): Component {
  return { name, start: async () => {}, stop: async () => {}, health: () => ({ level, message, sinceMs: 0 }) }
}

function ask(changes: Partial<HealthRequest>, components: readonly Component[]) {
  return answerHealth({ endpoint: 'readyz', verbose: false, exclude: [], ...changes }, components)
}

const proxy = component('proxy', 'ok')
const degraded = component('dns', 'degraded', '1 zone set aside')
const starting = component('api', 'unknown', 'waiting for\nthe list')

test('All well is a plain ok.', () => {
  assert.deepEqual(ask({}, [proxy, degraded]), { status: 200, body: 'ok' })
})

test('Verbose shows a line for each component, degraded ones with their reason.', () => {
  assert.deepEqual(ask({ endpoint: 'healthz', verbose: true }, [proxy, degraded]), {
    status: 200,
    body: '[+]proxy ok\n[+]dns ok (degraded: 1 zone set aside)\nhealthz check passed\n',
  })
})

test('One that failed is shown with its reason on one line, also without verbose.', () => {
  assert.deepEqual(ask({}, [proxy, starting]), {
    status: 500,
    body: '[+]proxy ok\n[-]api failed: unknown: waiting for the list\nreadyz check failed\n',
  })
})

test('A part that is still starting is alive; one that has stopped is not.', () => {
  assert.equal(ask({ endpoint: 'livez' }, [starting]).status, 200)
  assert.equal(ask({ endpoint: 'livez' }, [component('api', 'stopped')]).status, 500)
})

test('Excluded components are not asked, and an exclusion that hits nothing is said.', () => {
  assert.deepEqual(ask({ exclude: ['api'] }, [proxy, starting]), { status: 200, body: 'ok' })
  assert.match(ask({ exclude: ['apy'], verbose: true }, [proxy]).body, /^warn: nothing excluded: .*"apy"$/m)
})

test('One component can be asked alone.', () => {
  assert.deepEqual(ask({ component: 'proxy' }, [proxy, starting]), { status: 200, body: 'ok' })
  assert.equal(ask({ component: 'api' }, [proxy, starting]).status, 500)
  assert.equal(ask({ component: 'nothing' }, [proxy]).status, 404)
})
