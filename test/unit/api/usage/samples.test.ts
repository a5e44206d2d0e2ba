import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseSamples, rateBetween, type Sample } from '../../../../src/api/usage/samples.ts'
import { renderUsage } from '../../../../src/node/pods/usage-text.ts'

const sample = (changes: Partial<Sample>): Sample => ({
  atMs: 100_000,
  startedAtMs: 1000,
  cpuSeconds: 5,
  memoryBytes: 10,
  ...changes,
})

describe('samples', () => {
  test("are read back from an agent's text", () => {
    const node = { startedAtMs: 1, cpuSeconds: 7.5, memoryBytes: 4096 }
    const container = {
      namespace: 'ns',
      pod: 'p',
      container: 'c',
      startedAtMs: 2000,
      cpuSeconds: 1.25,
      memoryBytes: 99,
    }
    const text = renderUsage(node, [container, { ...container, container: 'd' }], 50_000)
    const { node: found, pods } = parseSamples(text, 0)
    assert.deepEqual(found, { atMs: 50_000, startedAtMs: 0, cpuSeconds: 7.5, memoryBytes: 4096 })
    const one = { atMs: 50_000, startedAtMs: 2000, cpuSeconds: 1.25, memoryBytes: 99 }
    assert.deepEqual(
      pods,
      new Map([
        [
          'ns/p',
          new Map([
            ['c', one],
            ['d', one],
          ]),
        ],
      ]),
    )
  })

  test('leave out lines of another form and containers with half of their values', () => {
    const text = [
      'container_cpu_usage_seconds_total{container="a",namespace="n",pod="p"} 1 5',
      'container_memory_working_set_bytes{container="a",namespace="n",pod="p"} NaN 5',
      'container_cpu_usage_seconds_total{container="b",namespace="n",pod="p"} 1',
      'container_memory_working_set_bytes{container="b",namespace="n",pod="p"} 2',
      'container_cpu_usage_seconds_total{container="x"y",namespace="n"} 1 5',
      'node_cpu_usage_seconds_total -1',
      'node_memory_working_set_bytes 1',
      'something else {',
      '__proto__ 1',
    ].join('\n')
    const { node, pods } = parseSamples(text, 77)
    assert.equal(node, undefined)
    assert.deepEqual([...pods.keys()], ['n/p'])
    assert.deepEqual(pods.get('n/p')?.get('b'), { atMs: 77, startedAtMs: 0, cpuSeconds: 1, memoryBytes: 2 })
  })

  test('give the CPU time between two moments, and the later memory', () => {
    const rate = rateBetween(sample({}), sample({ atMs: 110_000, cpuSeconds: 6, memoryBytes: 20 }))
    assert.deepEqual(rate, { atMs: 110_000, windowMs: 10_000, cpuCores: 0.1, memoryBytes: 20 })
  })

  test('count a container that started between them from its start, also after a restart', () => {
    const young = sample({ atMs: 110_000, startedAtMs: 106_000, cpuSeconds: 2 })
    for (const earlier of [undefined, sample({})]) {
      const rate = rateBetween(earlier, young)
      assert.deepEqual([rate?.windowMs, rate?.cpuCores], [4000, 0.5])
    }
  })

  test('say nothing about old counters without an earlier sample, counters that went back, and no time', () => {
    assert.equal(rateBetween(undefined, sample({})), undefined)
    assert.equal(rateBetween(sample({ cpuSeconds: 6 }), sample({ atMs: 110_000 })), undefined)
    assert.equal(rateBetween(sample({}), sample({})), undefined)
  })
})
