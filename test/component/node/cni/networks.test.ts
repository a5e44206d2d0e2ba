import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { FakeCni, sandbox } from '../../../helpers/fake-cni.ts'

const good = { cniVersion: '1.0.0', name: 'good', plugins: [{ type: 'only' }] }

interface BadFile {
  readonly what: string
  readonly file: string
  readonly content: string | object
  readonly reason: RegExp
}

const badFiles: readonly BadFile[] = [
  { what: 'an empty file', file: '05.conflist', content: '', reason: /05\.conflist is empty/ },
  { what: 'no JSON', file: '05.conf', content: '{"name":', reason: /05\.conf is not JSON/ },
  { what: 'a list', file: '05.json', content: '[]', reason: /expected a JSON object/ },
  { what: 'no name', file: '05.conflist', content: { ...good, name: undefined }, reason: /name: / },
  {
    what: 'a name that is a path',
    file: '05.conflist',
    content: { ...good, name: '../x' },
    reason: /name: expected letters/,
  },
  { what: 'no version', file: '05.conflist', content: { ...good, cniVersion: undefined }, reason: /cniVersion: / },
  {
    what: 'a version that is none',
    file: '05.conflist',
    content: { ...good, cniVersion: 'one' },
    reason: /cniVersion: expected a version/,
  },
  {
    what: 'a version of the future',
    file: '05.conflist',
    content: { ...good, cniVersion: '9.0.0' },
    reason: /version 9\.0\.0 is not one of 0\.3\.0, /,
  },
  {
    what: 'a version of the past',
    file: '05.conflist',
    content: { ...good, cniVersion: '0.2.0' },
    reason: /version 0\.2\.0 is not one of/,
  },
  {
    what: 'a version that its plugin does not speak',
    file: '05.conflist',
    content: { ...good, cniVersion: '1.1.0' },
    reason: /declares 1\.1\.0, but only speaks 0\.4\.0, 1\.0\.0/,
  },
  {
    what: 'no plugins',
    file: '05.conflist',
    content: { ...good, plugins: [] },
    reason: /the network good has no plugin/,
  },
  {
    what: 'only inlined plugins, and none',
    file: '05.conflist',
    content: { ...good, plugins: [], loadOnlyInlinedPlugins: true },
    reason: /loadOnlyInlinedPlugins is set and there is no plugin/,
  },
  { what: 'plugins that are no list', file: '05.conflist', content: { ...good, plugins: {} }, reason: /plugins: / },
  {
    what: 'a plugin without type',
    file: '05.conflist',
    content: { ...good, plugins: [{}] },
    reason: /plugins\.0\.type: /,
  },
  {
    what: 'a plugin that is a path',
    file: '05.conflist',
    content: { ...good, plugins: [{ type: '../../bin/sh' }] },
    reason: /plugins\.0\.type: expected the file name/,
  },
  {
    what: 'a capability that is no flag',
    file: '05.conflist',
    content: { ...good, plugins: [{ type: 'only', capabilities: { mac: 'yes' } }] },
    reason: /plugins\.0\.capabilities\.mac: expected true or false/,
  },
  {
    what: 'a plugin that is not installed',
    file: '05.conflist',
    content: { ...good, plugins: [{ type: 'absent' }] },
    reason: /05\.conflist: the plugin absent is in none of/,
  },
  {
    what: 'a plugin whose VERSION is garbage',
    file: '05.conflist',
    content: { ...good, plugins: [{ type: 'mad' }] },
    reason: /the plugin mad \(VERSION\) printed what is not a JSON object/,
  },
  {
    what: 'a plugin that fails VERSION',
    file: '05.conflist',
    content: { ...good, plugins: [{ type: 'ill' }] },
    reason: /the plugin ill \(VERSION\): no \(code 3\)/,
  },
  {
    what: 'a single plugin without type',
    file: '05.conf',
    content: { cniVersion: '1.0.0', name: 'x' },
    reason: /type: /,
  },
  {
    what: 'loadOnlyInlinedPlugins that is no flag',
    file: '05.conflist',
    content: { ...good, loadOnlyInlinedPlugins: 'perhaps' },
    reason: /loadOnlyInlinedPlugins: /,
  },
  {
    what: 'versions one of which is none',
    file: '05.conflist',
    content: { ...good, cniVersions: ['1.0.0', 'x'] },
    reason: /cniVersions\.1: expected a version/,
  },
  {
    what: 'a plugin whose interpreter is missing',
    file: '05.conflist',
    content: { ...good, plugins: [{ type: 'alien' }] },
    reason: /the plugin alien \(VERSION\) could not be started/,
  },
  {
    what: 'disableCheck that is no flag',
    file: '05.conflist',
    content: { ...good, disableCheck: 'perhaps' },
    reason: /disableCheck: /,
  },
]

for (const { what, file, content, reason } of badFiles) {
  test(`${file} with ${what} is skipped by name, and the next file is the default`, async (t) => {
    const cni = new FakeCni(t)
    cni.plugin('only')
    writeFileSync(join(cni.binDir, 'alien'), '#!/nowhere/interpreter\n', { mode: 0o755 })
    cni.plugin('mad').answer('VERSION', { out: 'v1' })
    cni.plugin('ill').answer('VERSION', { out: { code: 3, msg: 'no' }, exit: 1 })
    cni.network(file, content)
    cni.network('10-good.conflist', good)
    const { networks, skipped } = await cni.runtime().networks()
    assert.deepEqual(
      networks.map(({ name }) => name),
      ['good'],
    )
    assert.deepEqual(
      skipped.map((one) => one.file),
      [join(cni.configDir, file)],
    )
    assert.match(skipped[0]?.reason ?? '', reason)
    assert.ok(skipped[0]?.reason.startsWith(join(cni.configDir, file)), 'the reason names the file')
  })
}

test('without any usable file the error names every file and its fault', async (t) => {
  const cni = new FakeCni(t)
  cni.network('a.conflist', '')
  cni.network('b.conf', '{}')
  await assert.rejects(cni.runtime().add(sandbox), {
    code: 'no-network',
    message: /a\.conflist is empty.*b\.conf: type/,
  })
})

test('a folder that is missing is no network, and one that is made again is read again', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only')
  const runtime = cni.runtime()
  rmSync(cni.configDir, { recursive: true })
  await assert.rejects(runtime.defaultNetwork(), { code: 'no-network' })
  mkdirSync(cni.configDir)
  cni.network('10-good.conflist', good)
  assert.equal((await runtime.defaultNetwork()).name, 'good')
  renameSync(cni.configDir, `${cni.configDir}.old`)
  mkdirSync(cni.configDir)
  cni.network('10-other.conflist', { ...good, name: 'other' })
  assert.equal((await runtime.defaultNetwork()).name, 'other')
})

test('files count in lexical order, and only .conf, .conflist and .json', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only')
  for (const file of ['00-README', '01.conflist.bak', '02.yaml', '99.conflist'])
    cni.network(file, { ...good, name: file })
  cni.network('30.conf', { cniVersion: '1.0.0', name: 'single', type: 'only' })
  cni.network('20.json', { ...good, name: 'list-in-json' })
  cni.network('25.json', { cniVersion: '1.0.0', name: 'single-in-json', type: 'only' })
  mkdirSync(join(cni.configDir, '10.conflist'))
  cni.network('10.conflist/05.conflist', { ...good, name: 'nested' })
  const { networks, skipped } = await cni.runtime().networks()
  assert.deepEqual(
    networks.map(({ name }) => name),
    ['list-in-json', 'single-in-json', 'single', '99.conflist'],
  )
  assert.deepEqual(skipped, [])
})

test('plugins of the folder that has the name of the network come after those of the list', async (t) => {
  const cni = new FakeCni(t)
  for (const name of ['one', 'two', 'three']) cni.plugin(name)
  cni.network('10.conflist', { ...good, plugins: [{ type: 'one' }] })
  mkdirSync(join(cni.configDir, 'good'))
  cni.network('good/20.conf', { type: 'three' })
  cni.network('good/10.conf', { type: 'two', tag: 'x' })
  cni.network('good/05.conflist', { type: 'ignored' })
  const runtime = cni.runtime()
  await runtime.add(sandbox)
  assert.deepEqual(cni.order(), ['ADD one', 'ADD two', 'ADD three'])
  rmSync(join(cni.configDir, 'good'), { recursive: true })
  await runtime.del(sandbox)
  assert.deepEqual(cni.order().slice(3), ['DEL three', 'DEL two', 'DEL one'], 'DEL still knows them')
})

test('loadOnlyInlinedPlugins leaves the folder out; a list may be all folder', async (t) => {
  const cni = new FakeCni(t)
  for (const name of ['one', 'two']) cni.plugin(name)
  mkdirSync(join(cni.configDir, 'good'))
  cni.network('good/10.conf', { type: 'two' })
  cni.network('10.conflist', { ...good, plugins: [{ type: 'one' }], loadOnlyInlinedPlugins: true })
  const runtime = cni.runtime()
  const types = async () => (await runtime.defaultNetwork()).plugins.map(({ type }) => type)
  assert.deepEqual(await types(), ['one'])
  cni.network('10.conflist', { cniVersion: '1.0.0', name: 'good' })
  assert.deepEqual(await types(), ['two'])
  cni.network('good/10.conf', '{"type":')
  await assert.rejects(types(), /good\/10\.conf is not JSON/)
})

for (const [declared, spoken, chosen] of [
  [{ cniVersion: '0.4.0' }, ['0.3.1', '0.4.0', '1.0.0'], '0.4.0'],
  [{ cniVersion: '0.3.1' }, ['0.3.1', '0.4.0'], '0.3.1'],
  [{ cniVersion: '0.4.0', cniVersions: ['1.0.0', '1.1.0'] }, ['0.4.0', '1.0.0'], '1.0.0'],
  [{ cniVersion: '0.4.0', cniVersions: ['1.0.0', '1.1.0'] }, ['0.4.0', '1.0.0', '1.1.0'], '1.1.0'],
  [{ cniVersion: '1.1.0', cniVersions: ['0.4.0'] }, ['0.4.0', '1.0.0'], '0.4.0'],
  [{ cniVersion: '1.0.0', cniVersions: ['2.0.0'] }, ['1.0.0', '2.0.0'], '1.0.0'],
  [{ cniVersion: '1.0.0', cniVersions: [] }, ['0.4.0', '1.0.0'], '1.0.0'],
  [{ cniVersion: '1.0.0', disableCheck: 'false' }, ['0.4.0', '1.0.0'], '1.0.0'],
] as const) {
  test(`${JSON.stringify(declared)} with a plugin that speaks ${spoken.join(', ')} is used at ${chosen}`, async (t) => {
    const cni = new FakeCni(t)
    const only = cni.plugin('only', spoken)
    cni.network('10.conflist', { ...good, ...declared })
    await cni.runtime().add(sandbox)
    assert.equal(only.inputs('ADD')[0]?.['cniVersion'], chosen)
  })
}

test('the slowest plugin of a list decides the version', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('new', ['0.4.0', '1.0.0', '1.1.0'])
  cni.plugin('old', ['0.3.1', '0.4.0'])
  cni.network('10.conflist', { ...good, cniVersions: ['0.4.0', '1.1.0'], plugins: [{ type: 'new' }, { type: 'old' }] })
  assert.equal((await cni.runtime().defaultNetwork()).cniVersion, '0.4.0')
})

test('a binary is asked for its version once, and again when it was replaced', async (t) => {
  const cni = new FakeCni(t)
  const only = cni.plugin('only')
  cni.network('10.conflist', good)
  const runtime = cni.runtime()
  for (const _ of ['one', 'two', 'three']) await runtime.defaultNetwork()
  assert.equal(only.inputs('VERSION').length, 1)
  const script = join(cni.binDir, 'script')
  utimesSync(script, 1, 1)
  only.answer('VERSION', { out: { supportedVersions: ['0.4.0'] } })
  await assert.rejects(runtime.defaultNetwork(), /declares 1\.0\.0, but only speaks 0\.4\.0/)
  const content = readFileSync(script)
  rmSync(script)
  writeFileSync(script, content, { mode: 0o755 })
  only.answer('VERSION', { out: { supportedVersions: ['1.0.0'] } })
  assert.equal((await runtime.defaultNetwork()).cniVersion, '1.0.0')
})

test('the first folder that has a plugin wins, and what is not executable is not there', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only')
  cni.network('10.conflist', good)
  const first = join(cni.folder, 'first')
  mkdirSync(first)
  writeFileSync(join(first, 'only'), 'no program', { mode: 0o644 })
  const runtime = cni.runtime({ binDirs: [first, cni.binDir] })
  await runtime.add(sandbox)
  assert.deepEqual(cni.order(), ['ADD only'])
  rmSync(join(first, 'only'))
  writeFileSync(join(first, 'only'), '#!/bin/sh\necho \'{"supportedVersions":["1.0.0"],"ips":[]}\'\n', { mode: 0o755 })
  assert.equal((await runtime.add({ ...sandbox, containerId: 'c2' })).ips.length, 0)
})
