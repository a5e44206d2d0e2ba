import assert from 'node:assert/strict'
import { chmodSync, closeSync, copyFileSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CniError } from '../../../../src/node/cni/index.ts'
import { FakeCni, okResult, sandbox } from '../../../helpers/fake-cni.ts'

interface Case {
  readonly what: string
  readonly answer: { out?: string | object; exit?: number; sh?: string }
  readonly code: string
  readonly message: RegExp
}

const cases: readonly Case[] = [
  {
    what: 'exits 1 in silence',
    answer: { out: '', exit: 1 },
    code: 'plugin-failed',
    message: /netplugin failed with no error message: exit status 1/,
  },
  {
    what: 'exits 2 with words on stderr only',
    answer: { out: '', exit: 2, sh: 'echo "panic: oh" >&2' },
    code: 'plugin-failed',
    message: /netplugin failed: "panic: oh"/,
  },
  {
    what: 'exits 1 with garbage',
    answer: { out: 'not json', exit: 1 },
    code: 'plugin-failed',
    message: /netplugin failed but error parsing its diagnostic message "not json"/,
  },
  {
    what: 'exits 1 with half an error',
    answer: { out: '{"code": 7, "ms', exit: 1 },
    code: 'plugin-failed',
    message: /error parsing its diagnostic message/,
  },
  {
    what: 'exits 0 with an error object',
    answer: { out: { cniVersion: '1.0.0', code: 7, msg: 'lost exit code' } },
    code: 'plugin-failed',
    message: /lost exit code \(code 7\)/,
  },
  {
    what: 'exits 0 with half a result',
    answer: { out: '{"cniVersion":"1.0.0","ips":[' },
    code: 'bad-output',
    message: /printed what is not a JSON object/,
  },
  { what: 'exits 0 with a list', answer: { out: '[]' }, code: 'bad-output', message: /not a JSON object/ },
  {
    what: 'gives an address without prefix length',
    answer: { out: { ...okResult, ips: [{ address: '198.18.0.2' }] } },
    code: 'bad-output',
    message: /ips.address: expected an address with its prefix length, found "198.18.0.2"/,
  },
  {
    what: 'gives an address that is none',
    answer: { out: { ...okResult, ips: [{ address: '$(reboot)/24' }] } },
    code: 'bad-output',
    message: /ips.address: expected an address/,
  },
  {
    what: 'gives a gateway that is none',
    answer: { out: { ...okResult, ips: [{ address: '198.18.0.2/24', gateway: 'x' }] } },
    code: 'bad-output',
    message: /ips.0.gateway: expected an IP address, found "x"/,
  },
  {
    what: 'gives a route that is none',
    answer: { out: { ...okResult, routes: [{ dst: 'default' }] } },
    code: 'bad-output',
    message: /routes.dst: expected a network/,
  },
  {
    what: 'gives ips that are no list',
    answer: { out: { ...okResult, ips: { address: '198.18.0.2/24' } } },
    code: 'bad-output',
    message: /ips: /,
  },
  {
    what: 'prints without end',
    answer: { sh: 'exec yes' },
    code: 'bad-output',
    message: /printed more than 1048576 bytes/,
  },
]

for (const { what, answer, code, message } of cases) {
  test(`a plugin that ${what} fails the ADD, which is undone`, async (t) => {
    const cni = new FakeCni(t)
    cni.plugin('only').answer('ADD', answer)
    cni.list('only')
    await assert.rejects(cni.runtime().add(sandbox), (error) => {
      assert.ok(error instanceof CniError)
      assert.equal(error.code, code)
      assert.match(error.message, message)
      return true
    })
    assert.deepEqual(cni.order(), ['ADD only', 'DEL only'])
    assert.deepEqual(cni.cacheFiles(), [])
  })
}

test('null in a result is nothing, as libcni reads it', async (t) => {
  const cni = new FakeCni(t)
  const ips = [{ address: '198.18.0.2/24', gateway: null, interface: null }]
  const out = {
    cniVersion: '1.0.0',
    ips,
    interfaces: [{ name: 'eth0', mac: null, sandbox: null }],
    routes: [{ dst: '0.0.0.0/0', gw: null }],
    dns: { nameservers: null, domain: null, search: null, options: null },
  }
  cni.plugin('only').answer('ADD', { out })
  cni.list('only')
  assert.deepEqual(await cni.runtime().add(sandbox), {
    ips: [{ ip: '198.18.0.2', prefixLength: 24 }],
    interfaces: [{ name: 'eth0' }],
    routes: [{ destination: '0.0.0.0/0' }],
    dns: { nameservers: [], search: [], options: [] },
  })
})

test('a plugin that does not read its input still counts by its answer', async (t) => {
  const cni = new FakeCni(t)
  const plugin = cni.plugin('only')
  cni.list({ type: 'only', filler: 'x'.repeat(300_000) } as { type: string })
  writeFileSync(`${cni.binDir}/deaf`, `#!/bin/sh\ncat "${plugin.path}.d/$CNI_COMMAND.out"\n`)
  chmodSync(`${cni.binDir}/deaf`, 0o755)
  cni.list({ type: 'deaf', filler: 'x'.repeat(300_000) } as { type: string })
  assert.equal((await cni.runtime().add(sandbox)).ips.length, 1)
})

test('a plugin that never ends is killed with everything it started, then DEL runs', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only').answer('ADD', { sh: 'sleep 600 & echo $! >"$d/child"; wait' })
  cni.list('only')
  await assert.rejects(cni.runtime({ pluginTimeoutMs: 2000 }).add(sandbox), {
    code: 'plugin-timeout',
    message: /was killed after 2000 ms/,
  })
  assert.deepEqual(cni.order(), ['ADD only', 'DEL only'])
  const child = readFileSync(`${cni.binDir}/only.d/child`, 'utf8').trim()
  const isAlive = () =>
    existsSync(`/proc/${child}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${child}/status`, 'utf8'))
  for (let waited = 0; isAlive() && waited < 30_000; waited += 20) await sleep(20)
  assert.equal(isAlive(), false)
})

test('a caller that gives up ends the plugin, then DEL runs', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only').answer('ADD', { sh: 'sleep 600' })
  cni.list('only')
  const givingUp = new AbortController()
  const adding = cni.runtime().add(sandbox, { signal: givingUp.signal })
  adding.catch(() => {})
  while (cni.order().length === 0) await sleep(5)
  givingUp.abort()
  await assert.rejects(adding, { code: 'cancelled' })
  assert.deepEqual(cni.order(), ['ADD only', 'DEL only'])
})

test('a plugin that leaves a child with its output open is not waited for', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only').answer('ADD', { sh: 'sleep 60 & echo $! >"$d/child"' })
  cni.list('only')
  assert.equal((await cni.runtime().add(sandbox)).ips.length, 1)
  process.kill(Number(readFileSync(`${cni.binDir}/only.d/child`, 'utf8')))
})

test('a binary that is being written is tried again until it is done', async (t) => {
  const cni = new FakeCni(t)
  const plugin = cni.plugin('only')
  cni.list('only')
  // "Text file busy" needs a real executable; a copy of one stands in for the plugin.
  rmSync(plugin.path)
  copyFileSync('/usr/bin/true', plugin.path)
  const writing = openSync(plugin.path, 'r+')
  const runtime = cni.runtime({ busyDelayMs: 100 })
  const asked = runtime.networks()
  await sleep(150)
  closeSync(writing)
  const { skipped } = await asked
  assert.match(skipped[0]?.reason ?? '', /the plugin only \(VERSION\) names no supportedVersions/)
})

test('a binary that stays busy is reported', async (t) => {
  const cni = new FakeCni(t)
  const plugin = cni.plugin('only')
  cni.list('only')
  rmSync(plugin.path)
  copyFileSync('/usr/bin/true', plugin.path)
  const writing = openSync(plugin.path, 'r+')
  const { skipped } = await cni.runtime().networks()
  closeSync(writing)
  assert.match(skipped[0]?.reason ?? '', /could not be started.*ETXTBSY/)
})
