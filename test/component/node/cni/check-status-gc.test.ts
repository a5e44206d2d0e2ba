import assert from 'node:assert/strict'
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { FakeCni, okResult, sandbox } from '../../../helpers/fake-cni.ts'

const newest = ['0.4.0', '1.0.0', '1.1.0']
const list = { cniVersion: '1.1.0', name: 'test', plugins: [{ type: 'first' }, { type: 'second' }] }
const other = { ...sandbox, containerId: 'c2' }
/** Nothing of iptables is looked at. */
const quiet = { runProgram: () => Promise.reject(new Error('no iptables here')) }

function newCni(t: ConstructorParameters<typeof FakeCni>[0]) {
  const cni = new FakeCni(t)
  const first = cni.plugin('first', newest)
  const second = cni.plugin('second', newest)
  for (const plugin of [first, second]) plugin.answer('ADD', { out: { ...okResult, cniVersion: '1.1.0' } })
  cni.network('10-test.conflist', list)
  return { cni, first, second, runtime: cni.runtime(quiet) }
}

test('CHECK asks every plugin in order with the final result', async (t) => {
  const { cni, second, runtime } = newCni(t)
  await runtime.add(sandbox)
  assert.deepEqual(await runtime.check(sandbox), [{ network: 'test', isAsked: true }])
  assert.deepEqual(cni.order().slice(2), ['CHECK first', 'CHECK second'])
  assert.deepEqual(second.inputs('CHECK')[0]?.['prevResult'], { ...okResult, cniVersion: '1.1.0' })
})

test('CHECK tells what the first plugin finds wrong', async (t) => {
  const { cni, first, runtime } = newCni(t)
  first.answer('CHECK', { out: { code: 100, msg: 'the address is gone' }, exit: 1 })
  await runtime.add(sandbox)
  await assert.rejects(runtime.check(sandbox), { code: 'plugin-failed', message: /the address is gone/ })
  assert.deepEqual(cni.order().slice(2), ['CHECK first'])
})

for (const [what, change] of [
  ['is disabled', { disableCheck: true }],
  ['is disabled in words', { disableCheck: 'true' }],
] as const) {
  test(`CHECK asks no plugin where it ${what}`, async (t) => {
    const cni = new FakeCni(t)
    for (const name of ['first', 'second']) cni.plugin(name, ['0.3.1', ...newest])
    cni.network('10-test.conflist', { ...list, ...change })
    const runtime = cni.runtime()
    await runtime.add(sandbox)
    assert.deepEqual(await runtime.check(sandbox), [{ network: 'test', isAsked: false }])
    assert.deepEqual(cni.order(), ['ADD first', 'ADD second'])
  })
}

test('CHECK before 0.4.0 is refused in the words of libcni', async (t) => {
  const cni = new FakeCni(t)
  for (const name of ['first', 'second']) cni.plugin(name, ['0.3.1', ...newest])
  cni.network('10-test.conflist', { ...list, cniVersion: '0.3.1' })
  const runtime = cni.runtime()
  await runtime.add(sandbox)
  const message = 'configuration version "0.3.1" does not support the CHECK command'
  await assert.rejects(runtime.check(sandbox), { code: 'not-supported', message })
  assert.deepEqual(cni.order(), ['ADD first', 'ADD second'])
})

test('CHECK of what was never added says so', async (t) => {
  await assert.rejects(newCni(t).runtime.check(sandbox), { code: 'invalid-sandbox', message: /nothing is known/ })
})

test('STATUS asks plugins of 1.1.0, and tells the first that cannot serve', async (t) => {
  const { cni, second, runtime } = newCni(t)
  assert.equal((await runtime.status()).name, 'test')
  second.answer('STATUS', { out: { code: 50, msg: 'not yet' }, exit: 1 })
  await assert.rejects(runtime.status(), { pluginCode: 50, message: /not yet/ })
  assert.deepEqual(cni.order(), ['STATUS first', 'STATUS second', 'STATUS first', 'STATUS second'])
})

test('STATUS and GC ask no plugin below 1.1.0', async (t) => {
  const { cni, runtime } = newCni(t)
  cni.network('10-test.conflist', { ...list, cniVersion: '1.0.0' })
  await runtime.status()
  await runtime.garbage.collect([])
  assert.deepEqual(cni.order(), [])
})

test('GC undoes what has no living sandbox, then names the living to the plugins under both keys', async (t) => {
  const { cni, second, runtime } = newCni(t)
  await runtime.add(sandbox)
  await runtime.add(other)
  const { deleted, errors } = await runtime.garbage.collect([other])
  assert.deepEqual([deleted, errors], [['test/c1/eth0'], []])
  assert.deepEqual(cni.order().slice(4), ['DEL second', 'DEL first', 'GC first', 'GC second'])
  const attachments = [{ containerID: 'c2', ifname: 'eth0' }]
  assert.deepEqual(second.inputs('GC')[0], {
    type: 'second',
    cniVersion: '1.1.0',
    name: 'test',
    'cni.dev/valid-attachments': attachments,
    'cni.dev/attachments': attachments,
  })
  assert.equal(second.environments('GC')[0]?.['CNI_CONTAINERID'], undefined)
  assert.deepEqual(cni.cacheFiles(), ['test-c2-eth0'])
})

test('GC goes on past what fails, reports it, and keeps what could not be undone', async (t) => {
  const { cni, first, runtime } = newCni(t)
  first.answer('DEL', { out: { code: 11, msg: 'later' }, exit: 1 })
  first.answer('GC', { out: { code: 11, msg: 'later too' }, exit: 1 })
  await runtime.add(sandbox)
  await runtime.add(other)
  const { deleted, errors } = await runtime.garbage.collect([])
  assert.deepEqual([deleted, errors.length], [[], 3])
  assert.deepEqual(cni.cacheFiles(), ['test-c1-eth0', 'test-c2-eth0'])
  assert.equal(cni.order().filter((line) => line === 'GC second').length, 1)
})

test('disableGC keeps GC from the plugins', async (t) => {
  const { cni, runtime } = newCni(t)
  cni.network('10-test.conflist', { ...list, disableGC: true })
  await runtime.garbage.collect([])
  assert.deepEqual(cni.order(), [])
})

test('attachments of another runtime are left alone and are valid to GC', async (t) => {
  const { cni, first, runtime } = newCni(t)
  await runtime.add(sandbox)
  const file = join(cni.cacheDir, 'results/test-c1-eth0')
  const { owner: _, ...theirs } = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify(theirs))
  assert.deepEqual((await runtime.garbage.collect([])).deleted, [])
  assert.deepEqual(first.inputs('GC')[0]?.['cni.dev/attachments'], [{ containerID: 'c1', ifname: 'eth0' }])
})

test('what an ADD began and a crash interrupted is undone by GC', async (t) => {
  const { cni, first, runtime } = newCni(t)
  await runtime.add(sandbox)
  const file = join(cni.cacheDir, 'results/test-c1-eth0')
  const { result: _, ...begun } = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify({ ...begun, result: { cniVersion: '1.0.0' } }))
  assert.deepEqual((await cni.runtime(quiet).garbage.collect([])).deleted, ['test/c1/eth0'])
  assert.equal(first.inputs('DEL')[0]?.['prevResult'], undefined)
  assert.deepEqual(cni.cacheFiles(), [])
})

test('half a file that a crash left is removed when it is old, and never read', async (t) => {
  const { cni, runtime } = newCni(t)
  await runtime.add(sandbox)
  const results = join(cni.cacheDir, 'results')
  for (const name of ['.old.tmp', '.young.tmp']) writeFileSync(join(results, name), '{')
  utimesSync(join(results, '.old.tmp'), 1, 1)
  assert.deepEqual((await runtime.garbage.leftovers()).unreadableFiles, [])
  await runtime.garbage.collect([sandbox])
  assert.deepEqual(cni.cacheFiles(), ['.young.tmp', 'test-c1-eth0'])
})

test('operations on one container follow one another, those on others run beside them, GC runs alone', async (t) => {
  const { cni, first, runtime } = newCni(t)
  const gate = join(cni.folder, 'gate')
  first.answer('ADD', { sh: `while [ ! -e ${gate} ]; do sleep 0.02; done` })
  const work = [runtime.add(sandbox), runtime.del(sandbox), runtime.add(other), runtime.garbage.collect([other])]
  const waiting = () => cni.order().filter((line) => line === 'ADD first').length === 2
  for (let waitedMs = 0; !waiting() && waitedMs < 30_000; waitedMs += 20) await sleep(20)
  assert.deepEqual(cni.order(), ['ADD first', 'ADD first'])
  writeFileSync(gate, '')
  await Promise.all(work)
  const order = cni.order()
  const firstGc = order.indexOf('GC first')
  assert.deepEqual(order.slice(firstGc), ['GC first', 'GC second'])
  assert.equal(order.filter((line) => line.startsWith('DEL')).length, 2)
  assert.ok(order.indexOf('DEL second') > order.indexOf('ADD second'), order.join())
  assert.deepEqual(cni.cacheFiles(), ['test-c2-eth0'])
})
