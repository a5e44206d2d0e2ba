import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { detectCgroups, makeCgroups, removeCgroups } from '../../../../src/node/pods/cgroups.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const limits = { cpuMillis: 250, memoryBytes: 64 * 1024 * 1024 }

/** Creates folders and files like those of a kernel. */
function makeTree(context: TestContext, files: Readonly<Record<string, string>>): string {
  const root = makeTemporaryFolder(context)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  return root
}

const read = (...parts: readonly string[]) => readFileSync(join(...parts), 'utf8')

describe('the control groups of a container', () => {
  test('are one group on a machine with version 2', (context) => {
    const root = makeTree(context, { 'cgroup.controllers': 'cpuset cpu io memory pids\n' })
    const { folders, problems } = makeCgroups(detectCgroups(root), 'u-main-0', limits)
    const folder = join(root, 'platnet/u-main-0')
    assert.deepEqual([folders, problems], [[folder], []])
    assert.deepEqual([read(folder, 'memory.max'), read(folder, 'cpu.max')], ['67108864', '25000 100000'])
  })

  test('are one group per controller on a machine with version 1, also beside an empty version 2', (context) => {
    const root = makeTree(context, {
      'memory/cgroup.procs': '',
      'cpu/cgroup.procs': '',
      'unified/cgroup.controllers': '',
    })
    const layout = detectCgroups(root)
    const { folders, problems } = makeCgroups(layout, 'u-main-0', limits)
    const [memory, cpu] = [join(root, 'memory/platnet/u-main-0'), join(root, 'cpu/platnet/u-main-0')]
    assert.deepEqual([folders.toSorted(), problems], [[cpu, memory], []])
    assert.equal(read(memory, 'memory.limit_in_bytes'), '67108864')
    assert.deepEqual([read(cpu, 'cpu.cfs_period_us'), read(cpu, 'cpu.cfs_quota_us')], ['100000', '25000'])
  })

  test('report a limit that does not hold, and hold the others', (context) => {
    const root = makeTree(context, { 'cpu/cgroup.procs': '' })
    const { folders, problems } = makeCgroups(detectCgroups(root), 'u-main-0', limits)
    assert.deepEqual(folders, [join(root, 'cpu/platnet/u-main-0')])
    assert.deepEqual(problems, ['the memory limit does not hold: this machine has no control group for memory'])
  })

  test('limit the number of processes if the machine has the controller, and report nothing if it does not', (context) => {
    const [second, first, none] = [
      makeTree(context, { 'cgroup.controllers': 'memory pids\n' }),
      makeTree(context, { 'pids/cgroup.procs': '' }),
      makeTree(context, { 'memory/cgroup.procs': '' }),
    ].map((root) => ({ root, ...makeCgroups(detectCgroups(root), 'u-main-0', { processes: 4096 }) }))
    assert.equal(read(second?.root ?? '', 'platnet/u-main-0/pids.max'), '4096')
    assert.equal(read(first?.root ?? '', 'pids/platnet/u-main-0/pids.max'), '4096')
    assert.deepEqual([none?.folders, none?.problems], [[join(none?.root ?? '', 'memory/platnet/u-main-0')], []])
  })

  test('exist without limits too, to count what the container uses, where the machine has them', (context) => {
    const root = makeTree(context, { 'cgroup.controllers': 'cpu memory' })
    const layout = detectCgroups(root)
    const folder = join(root, 'platnet/u-main-0')
    assert.deepEqual(makeCgroups(layout, 'u-main-0', {}), { folders: [folder], problems: [] })
    assert.equal(existsSync(join(folder, 'memory.max')), false)
    const bare = detectCgroups(makeTree(context, {}))
    assert.deepEqual(makeCgroups(bare, 'u-main-0', {}), { folders: [], problems: [] })
  })

  test('are removed with those that count CPU time on a machine with version 1', (context) => {
    const root = makeTree(context, { 'cpu/cgroup.procs': '', 'cpuacct/cgroup.procs': '' })
    const layout = detectCgroups(root)
    const { folders } = makeCgroups(layout, 'u-main-0', {})
    assert.deepEqual(folders, [join(root, 'cpu/platnet/u-main-0'), join(root, 'cpuacct/platnet/u-main-0')])
    removeCgroups(layout, 'u-main-0')
    assert.deepEqual(
      folders.map((folder) => existsSync(folder)),
      [false, false],
    )
  })
})
