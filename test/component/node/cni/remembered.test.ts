import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { FakeCni, okResult, sandbox } from '../../../helpers/fake-cni.ts'

const newest = ['0.4.0', '1.0.0', '1.1.0']

/** The cache file of `sandbox`, changed by hand. */
function rewrite(cni: FakeCni, change: (file: Record<string, unknown>) => Record<string, unknown>): void {
  const path = join(cni.cacheDir, 'results/test-c1-eth0')
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')))))
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

test('two interfaces of one container are remembered and taken away each by itself', async (t) => {
  const cni = new FakeCni(t)
  const only = cni.plugin('only')
  cni.list('only')
  const runtime = cni.runtime()
  await runtime.add(sandbox)
  await runtime.add({ ...sandbox, ifName: 'net1' })
  assert.deepEqual(cni.cacheFiles(), ['test-c1-eth0', 'test-c1-net1'])
  await runtime.del({ ...sandbox, ifName: 'net1' })
  assert.deepEqual(cni.cacheFiles(), ['test-c1-eth0'])
  assert.deepEqual(
    only.environments('DEL').map((env) => env['CNI_IFNAME']),
    ['net1'],
  )
})

test('a cache that cannot be written fails the ADD before any plugin runs', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only')
  cni.list('only')
  writeFileSync(cni.cacheDir, 'no folder')
  await assert.rejects(cni.runtime().add(sandbox), { code: 'ENOTDIR' })
  assert.deepEqual(cni.order(), [])
})

test('a cache that can no longer be written when the plugins are done undoes the ADD', async (t) => {
  const cni = new FakeCni(t)
  const results = join(cni.cacheDir, 'results')
  cni.plugin('only').answer('ADD', { sh: `rm -r ${results}; touch ${results}` })
  cni.list('only')
  await assert.rejects(cni.runtime().add(sandbox), { code: 'EEXIST' })
  assert.deepEqual(cni.order(), ['ADD only', 'DEL only'])
})

/** Writes what an ADD made as an agent does that is killed just before the file gets its name. */
const killedInWrite = `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  fs.renameSync = () => process.kill(process.pid, 'SIGKILL')
  syncBuiltinESMExports()
  const [file, folder, attachment] = process.argv.slice(1)
  const { ResultCache } = await import(file)
  await new ResultCache(folder, 'platnet').write(JSON.parse(attachment))`

for (const [what, isAddedAgain] of [
  ['DEL', false],
  ['the next ADD and its DEL', true],
] as const) {
  test(`half a file of an agent that was killed while it wrote goes with ${what}`, async (t) => {
    const cni = new FakeCni(t)
    cni.plugin('only')
    cni.list('only')
    const runtime = cni.runtime()
    await runtime.add(sandbox)
    const { containerId, ifName, netnsPath } = sandbox
    const name = { network: 'test', containerId, ifName, netnsPath, isOurs: true }
    const attachment = { ...name, config: '{}', cniArgs: [], capabilityArgs: {}, result: okResult }
    const file = resolve(import.meta.dirname, '../../../../src/node/cni/result-cache.ts')
    const words = [file, cni.cacheDir, JSON.stringify(attachment)]
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '--eval', killedInWrite, ...words])
    assert.equal(signal, 'SIGKILL')
    assert.equal(cni.cacheFiles().filter((one) => one.endsWith('.tmp')).length, 1)
    if (isAddedAgain) {
      await runtime.add(sandbox)
      assert.deepEqual(cni.cacheFiles(), ['test-c1-eth0'])
    }
    await runtime.del(sandbox)
    assert.deepEqual(cni.cacheFiles(), [])
  })
}

for (const [what, config] of [
  ['no JSON', '{"name":'],
  ['no list', '[]'],
  [
    'a list without a version that we know',
    JSON.stringify({ name: 'test', cniVersion: '9.0.0', plugins: [{ type: 'only' }] }),
  ],
] as const) {
  test(`a remembered configuration that is ${what} keeps no pod from going`, async (t) => {
    const cni = new FakeCni(t)
    cni.plugin('only')
    cni.list('only')
    const runtime = cni.runtime()
    await runtime.add(sandbox)
    rewrite(cni, (file) => ({ ...file, config: base64(config) }))
    await runtime.del(sandbox)
    assert.deepEqual(cni.order(), ['ADD only', 'DEL only'])
    assert.deepEqual(cni.cacheFiles(), [])
  })
}

test('where net.d has no such network any more either, DEL says what is wrong with the remembered one, and keeps it', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only')
  cni.list('only')
  const runtime = cni.runtime()
  await runtime.add(sandbox)
  rewrite(cni, (file) => ({ ...file, config: base64('{"name":') }))
  for (const name of readdirSync(cni.configDir)) writeFileSync(join(cni.configDir, name), '')
  await assert.rejects(runtime.del(sandbox), {
    code: 'invalid-config',
    message: /the remembered network test is not JSON/,
  })
  assert.deepEqual(cni.cacheFiles(), ['test-c1-eth0'])
})

test('DEL goes on past a plugin that is gone, names it, and is done once it is back', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('first')
  const second = cni.plugin('second')
  cni.list('first', 'second')
  const runtime = cni.runtime()
  await runtime.add(sandbox)
  renameSync(second.path, `${second.path}.away`)
  await assert.rejects(runtime.del(sandbox), { code: 'delete-failed', message: /the plugin second is in none of/ })
  await assert.rejects(runtime.check(sandbox), { code: 'plugin-missing' })
  assert.deepEqual(cni.order().slice(2), ['DEL first'], 'its address is given back all the same')
  assert.deepEqual(cni.cacheFiles(), ['test-c1-eth0'])
  renameSync(`${second.path}.away`, second.path)
  await runtime.del(sandbox)
  assert.deepEqual(cni.order().slice(3), ['DEL second', 'DEL first'])
  assert.deepEqual(cni.cacheFiles(), [])
})

for (const [what, answer, refusal] of [
  ['fails VERSION', { out: { code: 3, msg: 'no' }, exit: 1 }, 'plugin-failed'],
  ['speaks only another version', { out: { cniVersion: '0.4.0', supportedVersions: ['0.4.0'] } }, 'invalid-config'],
] as const) {
  test(`where a plugin ${what} since, DEL is as ADD was, and CHECK says so`, async (t) => {
    const cni = new FakeCni(t)
    const only = cni.plugin('only')
    cni.list('only')
    await cni.runtime().add(sandbox)
    only.answer('VERSION', answer)
    const runtime = cni.runtime()
    await assert.rejects(runtime.check(sandbox), { code: refusal })
    await runtime.del(sandbox)
    assert.deepEqual(only.inputs('DEL'), [{ type: 'only', cniVersion: '1.0.0', name: 'test', prevResult: okResult }])
    assert.deepEqual(cni.cacheFiles(), [])
  })
}

test('a remembered result of another version reaches CHECK and DEL in the words of theirs', async (t) => {
  const cni = new FakeCni(t)
  const only = cni.plugin('only', newest)
  cni.list('only')
  const runtime = cni.runtime()
  await runtime.add(sandbox)
  const result = { cniVersion: '0.4.0', ips: [{ version: '4', address: '198.18.0.2/24' }] }
  rewrite(cni, (file) => ({ ...file, result }))
  await runtime.check(sandbox)
  await runtime.del(sandbox)
  const converted = { cniVersion: '1.0.0', ips: [{ address: '198.18.0.2/24' }] }
  assert.deepEqual(
    [only.inputs('CHECK')[0]?.['prevResult'], only.inputs('DEL')[0]?.['prevResult']],
    [converted, converted],
  )
})

test('CHECK of what the cache holds no readable word of says that nothing is known', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only')
  cni.list('only')
  const runtime = cni.runtime()
  await runtime.add(sandbox)
  writeFileSync(join(cni.cacheDir, 'results/test-c1-eth0'), '{"kind":')
  await assert.rejects(runtime.check(sandbox), { code: 'invalid-sandbox', message: /nothing is known/ })
  assert.deepEqual(cni.order(), ['ADD only'])
})

test('a result without a version is one of the version that was asked for', async (t) => {
  const cni = new FakeCni(t)
  const { cniVersion: _, ...bare } = okResult
  cni.plugin('first').answer('ADD', { out: bare })
  const second = cni.plugin('second')
  second.answer('ADD', { out: { ...bare, cniVersion: '' } })
  cni.list('first', 'second')
  const runtime = cni.runtime()
  assert.equal((await runtime.add(sandbox)).ips.length, 1)
  assert.deepEqual(second.inputs('ADD')[0]?.['prevResult'], okResult)
  await runtime.del(sandbox)
  assert.deepEqual(second.inputs('DEL')[0]?.['prevResult'], okResult)
})

test('a folder for more plugins that is empty changes nothing', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only')
  cni.list('only')
  mkdirSync(join(cni.configDir, 'test'))
  assert.deepEqual((await cni.runtime().defaultNetwork()).plugins.length, 1)
})

test('every command has a deadline, and the pod goes on from there as after any failure', async (t) => {
  const cni = new FakeCni(t)
  const only = cni.plugin('only', newest)
  only.answer('ADD', { out: { ...okResult, cniVersion: '1.1.0' } })
  cni.network('10-test.conflist', { cniVersion: '1.1.0', name: 'test', plugins: [{ type: 'only' }] })
  const runtime = cni.runtime({
    pluginTimeoutMs: 2000,
    runProgram: () => Promise.reject(new Error('no iptables here')),
  })
  await runtime.add(sandbox)
  for (const command of ['CHECK', 'STATUS', 'GC', 'DEL', 'VERSION']) only.answer(command, { sh: 'sleep 600' })
  const killed = (command: string) => new RegExp(`the plugin only \\(${command}\\) was killed after 2000 ms`)
  const ends = await Promise.allSettled([
    runtime.check(sandbox),
    runtime.status(),
    cni.runtime({ pluginTimeoutMs: 2000 }).networks(),
  ])
  const [check, status, loaded] = ends
  assert.match(check.status === 'rejected' ? check.reason.message : '', killed('CHECK'))
  assert.match(status.status === 'rejected' ? status.reason.message : '', killed('STATUS'))
  assert.match(loaded.status === 'fulfilled' ? (loaded.value.skipped[0]?.reason ?? '') : '', killed('VERSION'))
  const [gc, del] = [await runtime.garbage.collect([sandbox]), await runtime.del(sandbox).catch((error) => error)]
  assert.match(String(gc.errors[0]), killed('GC'))
  assert.match(del.message, killed('DEL'))
  assert.deepEqual(cni.cacheFiles(), ['test-c1-eth0'], 'DEL is tried again')
})
