import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { CniResult } from '../../../../src/node/cni/index.ts'
import { FakeCni, okResult, sandbox } from '../../../helpers/fake-cni.ts'
import { createRecordingTracer } from '../../../helpers/recording-tracer.ts'

test('ADD runs the list in order and hands each result on', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('first')
  const second = cni.plugin('second')
  second.answer('ADD', { out: { ...okResult, routes: [] } })
  cni.list('first', 'second')
  const result: CniResult = await cni.runtime().add(sandbox)
  assert.deepEqual(cni.order(), ['ADD first', 'ADD second'])
  assert.deepEqual(second.inputs('ADD')[0], { cniVersion: '1.0.0', name: 'test', type: 'second', prevResult: okResult })
  assert.deepEqual(result, {
    ips: [{ ip: '198.18.0.2', prefixLength: 24, gateway: '198.18.0.1', interface: 0 }],
    interfaces: okResult.interfaces,
    routes: [],
    dns: { nameservers: [], search: [], options: [] },
  })
})

test('a plugin gets PATH, CNI and trace variables and nothing else of ours', async (t) => {
  const cni = new FakeCni(t)
  const plugin = cni.plugin('only')
  cni.list('only')
  const env = { PATH: '/usr/bin:/bin', TRACEPARENT: '00-1', SECRET_TOKEN: 'x', HOME: '/root' }
  await cni.runtime({ env }).add(sandbox)
  const { _, PWD, '': blank, OLDPWD, SHLVL, ...seen } = plugin.environments('ADD')[0] ?? {}
  assert.deepEqual(seen, {
    PATH: '/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin',
    TRACEPARENT: '00-1',
    CNI_COMMAND: 'ADD',
    CNI_CONTAINERID: 'c1',
    CNI_NETNS: '/run/netns/plt-none',
    CNI_IFNAME: 'eth0',
    CNI_PATH: cni.binDir,
    CNI_ARGS:
      'IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0;K8S_POD_INFRA_CONTAINER_ID=c1;K8S_POD_UID=uid-1',
  })
})

test('a traced ADD hands its trace to each plugin, and goes on with that of its own environment', async (t) => {
  const cni = new FakeCni(t)
  const plugins = ['first', 'second'].map((type) => cni.plugin(type))
  cni.list('first', 'second')
  const { tracer, spans } = createRecordingTracer()
  const env = { PATH: '/usr/bin:/bin', TRACEPARENT: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
  await cni.runtime({ env, tracer }).add(sandbox)
  const command = spans.find(({ name }) => name === 'CNI ADD') ?? assert.fail()
  const steps = spans.filter(({ name }) => name === 'CNI plugin')
  assert.deepEqual([command.context.traceId, command.parent?.spanId], ['a'.repeat(32), 'b'.repeat(16)])
  assert.equal(command.attributes['platnet.name'], 'web-0')
  assert.deepEqual(
    steps.map(({ parent, attributes }) => [parent?.spanId, attributes['platnet.plugin']]),
    [
      [command.context.spanId, 'first'],
      [command.context.spanId, 'second'],
    ],
  )
  for (const [index, plugin] of plugins.entries()) {
    const { spanId } = steps[index]?.context ?? assert.fail()
    assert.equal(plugin.environments('ADD')[0]?.['TRACEPARENT'], `00-${'a'.repeat(32)}-${spanId}-01`)
  }
})

test('an ADD that is not sampled says so to its plugins, and one that fails names the failure in its span', async (t) => {
  const cni = new FakeCni(t)
  const plugin = cni.plugin('only')
  cni.list('only')
  const unsampled = createRecordingTracer({ ratio: 0, followsParent: true })
  await cni.runtime({ env: {}, tracer: unsampled.tracer }).add(sandbox)
  assert.match(plugin.environments('ADD')[0]?.['TRACEPARENT'] ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  assert.deepEqual(unsampled.spans, [])
  plugin.answer('ADD', { out: { cniVersion: '1.0.0', code: 7, msg: 'no link' }, exit: 1 })
  const { tracer, spans } = createRecordingTracer()
  await assert.rejects(cni.runtime({ env: {}, tracer }).add({ ...sandbox, containerId: 'c2' }))
  assert.match(spans.find(({ name }) => name === 'CNI ADD')?.error ?? '', /no link/)
})

test('runtimeConfig is what a plugin declares and the pod has, and the declaration is taken out', async (t) => {
  const cni = new FakeCni(t)
  const ports = cni.plugin('ports')
  const other = cni.plugin('other')
  cni.list(
    { type: 'ports', capabilities: { portMappings: true, bandwidth: true, mac: false } } as { type: string },
    'other',
  )
  const portMappings = [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }] as const
  await cni.runtime().add({ ...sandbox, portMappings, mac: '02:00:00:00:00:09' })
  assert.deepEqual(ports.inputs('ADD')[0], {
    cniVersion: '1.0.0',
    name: 'test',
    type: 'ports',
    runtimeConfig: { portMappings },
  })
  assert.equal(other.inputs('ADD')[0]?.['runtimeConfig'], undefined)
})

test('a failed ADD is undone in reverse, and the first error is reported', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('first').answer('DEL', { out: { code: 7, msg: 'del trouble' }, exit: 1 })
  cni.plugin('second').answer('ADD', { out: { code: 999, msg: 'no addresses left', details: 'range 1' }, exit: 1 })
  cni.plugin('third')
  cni.list('first', 'second', 'third')
  await assert.rejects(cni.runtime().add(sandbox), {
    code: 'plugin-failed',
    pluginCode: 999,
    message: 'the plugin second (ADD): no addresses left; range 1 (code 999)',
  })
  assert.deepEqual(cni.order(), ['ADD first', 'ADD second', 'DEL third', 'DEL second', 'DEL first'])
  assert.deepEqual(cni.cacheFiles(), ['test-c1-eth0'], 'what could not be undone is remembered')
})

test('an ADD that was undone leaves nothing in the cache', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only').answer('ADD', { out: { code: 5, msg: 'no' }, exit: 1 })
  cni.list('only')
  await assert.rejects(cni.runtime().add(sandbox))
  assert.deepEqual(cni.cacheFiles(), [])
})

test('the result is remembered in the format of libcni', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only')
  cni.list('only')
  assert.equal(await cni.runtime().isRemembered(sandbox), false)
  await cni.runtime().add({ ...sandbox, mac: '02:00:00:00:00:09' })
  assert.equal(await cni.runtime().isRemembered(sandbox), true)
  assert.deepEqual(cni.cacheFiles(), ['test-c1-eth0'])
  const { config, ...file } = JSON.parse(readFileSync(join(cni.cacheDir, 'results/test-c1-eth0'), 'utf8'))
  assert.deepEqual(file, {
    kind: 'cniCacheV1',
    containerId: 'c1',
    ifName: 'eth0',
    networkName: 'test',
    netns: '/run/netns/plt-none',
    cniArgs: [
      ['IgnoreUnknown', '1'],
      ['K8S_POD_NAMESPACE', 'default'],
      ['K8S_POD_NAME', 'web-0'],
      ['K8S_POD_INFRA_CONTAINER_ID', 'c1'],
      ['K8S_POD_UID', 'uid-1'],
    ],
    capabilityArgs: { mac: '02:00:00:00:00:09' },
    result: okResult,
    owner: 'platnet',
  })
  assert.equal(JSON.parse(Buffer.from(config, 'base64').toString()).name, 'test')
})

test('DEL runs in reverse with the final result, by the configuration of ADD, and forgets', async (t) => {
  const cni = new FakeCni(t)
  const first = cni.plugin('first')
  cni.plugin('second')
  cni.list({ type: 'first', tag: 'old' } as { type: string }, 'second')
  const runtime = cni.runtime()
  await runtime.add(sandbox)
  cni.list({ type: 'first', tag: 'new' } as { type: string })
  await runtime.del(sandbox)
  assert.deepEqual(cni.order().slice(2), ['DEL second', 'DEL first'])
  assert.equal(first.inputs('DEL')[0]?.['tag'], 'old')
  assert.deepEqual(first.inputs('DEL')[0]?.['prevResult'], okResult)
  assert.deepEqual(cni.cacheFiles(), [])
})

test('DEL goes on past failing plugins, tells every error, and is tried again', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('first').answer('DEL', { out: { code: 11, msg: 'later' }, exit: 1 })
  const last = cni.plugin('last')
  last.answer('DEL', { sh: 'kill -9 $$' })
  cni.plugin('middle')
  cni.list('first', 'middle', 'last')
  const runtime = cni.runtime()
  await runtime.add(sandbox)
  await assert.rejects(runtime.del(sandbox), (error: Error) => {
    assert.match(
      error.message,
      /plugin last \(DEL\): netplugin failed with no error message.*plugin first \(DEL\): later/,
    )
    assert.ok(error.cause instanceof AggregateError)
    assert.equal(error.cause.errors.length, 2)
    return true
  })
  assert.deepEqual(cni.order().slice(3), ['DEL last', 'DEL middle', 'DEL first'])
  assert.equal(cni.cacheFiles().length, 1)
})

test('DEL of what was never added asks the default network without a result, and without a network is done', async (t) => {
  const cni = new FakeCni(t)
  await cni.runtime().del(sandbox)
  const only = cni.plugin('only')
  cni.list('only')
  await cni.runtime().del(sandbox)
  assert.deepEqual(cni.order(), ['DEL only'])
  assert.equal(only.inputs('DEL')[0]?.['prevResult'], undefined)
})

for (const content of ['', '{"kind":', '{"kind":"other"}', '[]']) {
  test(`DEL survives the cache file ${JSON.stringify(content)}`, async (t) => {
    const cni = new FakeCni(t)
    const only = cni.plugin('only')
    cni.list('only')
    const runtime = cni.runtime()
    await runtime.add(sandbox)
    writeFileSync(join(cni.cacheDir, 'results/test-c1-eth0'), content)
    await runtime.del(sandbox)
    assert.deepEqual(cni.order(), ['ADD only', 'DEL only'])
    assert.equal(only.inputs('DEL')[0]?.['prevResult'], undefined)
    assert.deepEqual(cni.cacheFiles(), [])
  })
}

test('plugins below 0.4.0 get no result at DEL, as they know none there', async (t) => {
  const cni = new FakeCni(t)
  const only = cni.plugin('only', ['0.3.1', '0.4.0'])
  cni.network('10-old.conflist', { cniVersion: '0.3.1', name: 'old', plugins: [{ type: 'only' }] })
  await cni.runtime().add(sandbox)
  await cni.runtime().del(sandbox)
  assert.deepEqual([only.inputs('DEL')[0]?.['cniVersion'], only.inputs('DEL')[0]?.['prevResult']], ['0.3.1', undefined])
  assert.deepEqual(cni.cacheFiles(), [])
})

test("an ADD that is asked for twice is the plugin's to refuse, and what stood before is undone with it", async (t) => {
  const cni = new FakeCni(t)
  const only = cni.plugin('only')
  cni.list('only')
  await cni.runtime().add(sandbox)
  only.answer('ADD', { out: { code: 100, msg: 'eth0 already exists' }, exit: 1 })
  await assert.rejects(cni.runtime().add(sandbox), /eth0 already exists/)
  assert.deepEqual(cni.order(), ['ADD only', 'ADD only', 'DEL only'])
})

test('a list of 0.4.0 gets results with families, one of 1.0.0 without', async (t) => {
  const cni = new FakeCni(t)
  const second = cni.plugin('second')
  cni.plugin('first').answer('ADD', {
    out: { cniVersion: '1.0.0', ips: [{ address: '198.18.0.2/24' }, { address: 'fd00:198::2/64' }] },
  })
  cni.network('10-old.conflist', {
    cniVersion: '0.4.0',
    name: 'old',
    plugins: [{ type: 'first' }, { type: 'second' }],
  })
  await cni.runtime().add(sandbox)
  assert.deepEqual(second.inputs('ADD')[0]?.['prevResult'], {
    cniVersion: '0.4.0',
    ips: [
      { version: '4', address: '198.18.0.2/24' },
      { version: '6', address: 'fd00:198::2/64' },
    ],
  })
})

for (const [field, value] of [
  ['containerId', '../x'],
  ['containerId', ''],
  ['containerId', '-x'],
  ['containerId', 'x'.repeat(129)],
  ['ifName', 'a-name-that-is-too-long'],
  ['ifName', ''],
  ['ifName', '.'],
  ['ifName', '..'],
  ['ifName', 'a/b'],
  ['ifName', 'a:b'],
  ['ifName', 'a b'],
  ['netnsPath', 'run/netns/x'],
  ['netnsPath', ''],
  ['podName', 'a;b=c'],
  ['podNamespace', ''],
  ['podUid', 'a;K8S_POD_NAME=other'],
] as const) {
  test(`a sandbox whose ${field} is ${JSON.stringify(value)} is refused before any plugin runs`, async (t) => {
    const cni = new FakeCni(t)
    cni.plugin('only')
    cni.list('only')
    await assert.rejects(cni.runtime().add({ ...sandbox, [field]: value }), {
      code: 'invalid-sandbox',
      message: new RegExp(`^${field}: expected`),
    })
    assert.deepEqual(cni.order(), [])
  })
}
