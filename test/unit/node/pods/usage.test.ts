import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { detectCgroups } from '../../../../src/node/pods/cgroups.ts'
import { readGroupUsage } from '../../../../src/node/pods/container-usage.ts'
import { parseNodeUsage } from '../../../../src/node/pods/node-usage.ts'
import { renderUsage } from '../../../../src/node/pods/usage-text.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

function makeTree(context: TestContext, files: Readonly<Record<string, string>>): string {
  const root = makeTemporaryFolder(context)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  return root
}

describe('the use of a container', () => {
  test('comes from one group on a machine with version 2, without pages that the kernel can drop', (context) => {
    const root = makeTree(context, {
      'cgroup.controllers': 'cpu memory',
      'platnet/u-c-0/cpu.stat': 'usage_usec 1500000\nuser_usec 1000000\n',
      'platnet/u-c-0/memory.current': '5000000\n',
      'platnet/u-c-0/memory.stat': 'anon 1\ninactive_file 2000000\n',
    })
    assert.deepEqual(readGroupUsage(detectCgroups(root), 'u-c-0'), { cpuSeconds: 1.5, memoryBytes: 3_000_000 })
  })

  test('comes from the groups of memory and CPU time on a machine with version 1', (context) => {
    const root = makeTree(context, {
      'memory/cgroup.procs': '',
      'cpuacct/cgroup.procs': '',
      'cpuacct/platnet/u-c-0/cpuacct.usage': '2500000000\n',
      'memory/platnet/u-c-0/memory.usage_in_bytes': '4096\n',
      'memory/platnet/u-c-0/memory.stat': 'inactive_file 1\ntotal_inactive_file 8192\n',
    })
    assert.deepEqual(readGroupUsage(detectCgroups(root), 'u-c-0'), { cpuSeconds: 2.5, memoryBytes: 0 })
  })

  test('is unknown where a group or a controller is missing', (context) => {
    const root = makeTree(context, { 'cgroup.controllers': 'cpu memory' })
    assert.equal(readGroupUsage(detectCgroups(root), 'u-c-0'), undefined)
    assert.equal(readGroupUsage(detectCgroups(makeTree(context, {})), 'u-c-0'), undefined)
  })
})

const stat = 'cpu  100 20 30 4000 500 6 7 8 9 0\ncpu0 1 1 1 1\nbtime 1700000000\n'
const meminfo = 'MemTotal:        1000 kB\nMemFree:          300 kB\nInactive(file):    50 kB\n'

describe('the use of a node', () => {
  test('is the time of all processors that were not idle, and the memory that is in use', () => {
    assert.deepEqual(parseNodeUsage(stat, meminfo), {
      startedAtMs: 1_700_000_000_000,
      cpuSeconds: 1.71,
      memoryBytes: 650 * 1024,
    })
  })

  test('is refused where a line is missing', () => {
    for (const [one, other] of [
      ['', meminfo],
      [stat, ''],
      [stat.replace('btime', 'time'), meminfo],
    ] as const)
      assert.throws(() => parseNodeUsage(one, other), RangeError)
  })
})

describe('the text of the use', () => {
  const usage = (pod: string, container: string, cpuSeconds: number) => ({
    namespace: 'default',
    pod,
    container,
    startedAtMs: 1_700_000_000_500,
    cpuSeconds,
    memoryBytes: 1024,
  })

  test("has kubelet's names, each value with its time, and sums of each pod", () => {
    const text = renderUsage(parseNodeUsage(stat, meminfo), [usage('a', 'x', 1), usage('a', 'y', 2.5)], 5000)
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    assert.deepEqual(lines, [
      'container_start_time_seconds{container="x",namespace="default",pod="a"} 1700000000.5 5000',
      'container_start_time_seconds{container="y",namespace="default",pod="a"} 1700000000.5 5000',
      'container_cpu_usage_seconds_total{container="x",namespace="default",pod="a"} 1 5000',
      'container_cpu_usage_seconds_total{container="y",namespace="default",pod="a"} 2.5 5000',
      'container_memory_working_set_bytes{container="x",namespace="default",pod="a"} 1024 5000',
      'container_memory_working_set_bytes{container="y",namespace="default",pod="a"} 1024 5000',
      'pod_cpu_usage_seconds_total{namespace="default",pod="a"} 3.5 5000',
      'pod_memory_working_set_bytes{namespace="default",pod="a"} 2048 5000',
      'node_cpu_usage_seconds_total 1.71 5000',
      'node_memory_working_set_bytes 665600 5000',
      'resource_scrape_error 0',
    ])
  })

  test('says that the node could not be read', () => {
    assert.match(renderUsage(undefined, [], 5000), /\nresource_scrape_error 1\n$/)
  })
})
