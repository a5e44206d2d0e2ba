import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runIsolated } from '../../../src/demo/isolate.ts'
import { runProgram } from '../../../src/host/index.ts'
import { ensureDebianRoot } from '../../helpers/debian-machine.ts'
import { skipReason } from '../../helpers/netns.ts'

const checkout = resolve(import.meta.dirname, '../../..')
const image = join(checkout, '.cache/debian-root')
const hierarchy = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((root) => existsSync(`${root}/cgroup.controllers`))
const skip =
  skipReason('debootstrap', 'dpkg-deb', 'iptables-save', 'ip6tables-save', 'ipset', 'nft', 'nsenter', 'unshare') ||
  (hierarchy === undefined && 'needs control groups of version 2')

interface BuildOptions {
  readonly env?: Readonly<Record<string, string>>
  /** As released; without it the build takes a tenth of the time. */
  readonly isCompressed?: boolean
}

async function build(out: string, version: string, { env = {}, isCompressed = false }: BuildOptions = {}) {
  const compression = isCompressed ? [] : ['--compression', 'none']
  const args = ['scripts/package.ts', ...compression, '--version', version, '--out', out]
  await runProgram(process.execPath, args, { timeoutMs: 1_200_000, cwd: checkout, env })
  const name = readdirSync(out).find((file) => file.startsWith(`platnet_${version}+`))
  return join(out, name ?? assert.fail('no package was built'))
}

test('the same commit gives the same bytes, whatever the umask, zone and hour', { skip }, async () => {
  const folders = ['one', 'other'].map(() => mkdtempSync(join(tmpdir(), 'platnet-same-')))
  const umask = process.umask()
  try {
    const [one = '', other = ''] = folders
    const first = await build(one, '0.9.0')
    process.umask(0o077)
    const second = await build(other, '0.9.0', { env: { TZ: 'Asia/Tokyo', LANG: 'C' } })
    const sum = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')
    assert.equal(sum(second), sum(first))
  } finally {
    process.umask(umask)
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  }
})

/** Errors of lintian that stand: the project has no mail address, and its Node has its libraries within. */
const accepted = ['bogus-mail-host', 'bogus-mail-host-in-debian-changelog', 'embedded-library']

test('the package as it is released has at most 45 MB, and lintian finds no error in it', { skip }, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'platnet-size-'))
  try {
    const file = await build(folder, '0.9.0', { isCompressed: true })
    const megabytes = statSync(file).size / 1e6
    context.diagnostic(`${megabytes.toFixed(1)} MB`)
    assert.ok(megabytes <= 45, `${megabytes} MB`)
    const lack = skipReason('lintian')
    if (lack) return context.diagnostic(`${lack}: apt-get install lintian`)
    const flags = ['--fail-on', 'error', '--tag-display-limit', '0', '--suppress-tags', accepted.join()]
    const { stdout } = await runProgram('lintian', [...flags, file], { timeoutMs: 300_000 })
    assert.doesNotMatch(stdout, /^E: /m)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

describe('the package on a fresh Debian', { skip }, () => {
  const group = `${hierarchy}/plt-debian-${process.pid}`
  let folder: string
  // biome-ignore lint/suspicious/noExplicitAny: what the program saw, judged below
  let seen: any

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'platnet-debian-'))
    const older = await build(folder, '0.9.0')
    const newer = await build(folder, '0.9.1')
    const depends = (await runProgram('dpkg-deb', ['-f', older, 'Depends'], { timeoutMs: 10_000 })).stdout
    const names = depends.split(',').map((part) => part.trim().split(' ')[0] ?? '')
    await ensureDebianRoot(image, names)
    mkdirSync(group)
    const program = join(import.meta.dirname, 'debian-package.program.ts')
    const signal = AbortSignal.timeout(900_000)
    const { exitCode, stdout } = await runIsolated(program, [image, group, older, newer], { signal, stdout: 'pipe' })
    assert.equal(exitCode, 0, 'the program failed; its output is above')
    seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  })
  after(() => {
    rmSync(folder, { recursive: true, force: true })
    removeGroup(group)
  })

  test('it is installed with what it depends on and without a network, starts nothing, and haproxy stays down', () => {
    assert.deepEqual(seen.first.haproxy.split('\n'), ['disabled', 'inactive'])
    assert.equal(seen.first.unit, 'disabled')
  })

  test('server and agent run as units of their own within their limits, until the unit for both starts', () => {
    const { apart, rules, reload, together } = seen.sides
    assert.deepEqual([apart, reload], ['active\nactive', 'active'])
    assert.ok(rules > 0)
    assert.deepEqual(together.split('\n'), ['active', 'inactive', 'inactive'])
  })

  test('enabled it serves: names beside others that hold port 53, Services, Ingresses', () => {
    assert.match(seen.status, /^ +ok +dns: \d+ names/m)
    assert.ok(seen.upgrades.service.asked > 50 && seen.upgrades.ingress.asked > 50)
  })

  test('an upgrade, a reinstallation and a downgrade under load fail no request', () => {
    assert.deepEqual(seen.upgrades.service.failures, [])
    assert.deepEqual(seen.upgrades.ingress.failures, [])
  })

  test('each of them restarts the daemon with the version that is installed, and the pod runs on', () => {
    const versions = seen.upgrades.seen.map(({ version }: { version: string }) => version)
    assert.deepEqual(versions, ['0.9.0', '0.9.1', '0.9.1', '0.9.0'])
    const pids = seen.upgrades.seen.map(({ pid }: { pid: string }) => pid)
    assert.equal(new Set(pids).size, pids.length)
    for (const { restarts } of seen.upgrades.seen) assert.equal(restarts, 0)
  })

  test("the operator's configuration is kept, and code that another version compiled is not", () => {
    assert.equal(seen.upgrades.isConfigKept, true)
    assert.equal(seen.upgrades.isCodeKept, false)
  })

  test('removed it leaves rules and traffic, and installed again it goes on with the same pod', () => {
    assert.ok(seen.comeBack.removed.rules > 0)
    assert.equal(seen.comeBack.removed.answer, undefined)
    assert.equal(seen.comeBack.answer, undefined)
    assert.deepEqual([seen.comeBack.back.version, seen.comeBack.back.restarts], ['0.9.1', 0])
  })

  test('purged it leaves no file, rule, set, address, link, route or process', () => {
    assert.notEqual(seen.processesBefore, '')
    assert.equal(seen.processesAfter, '')
    const { newFiles, lostFiles, newInKernel, lostInKernel, isKnown } = seen
    const nothing = { newFiles: [], lostFiles: [], newInKernel: [], lostInKernel: [], isKnown: '' }
    assert.deepEqual({ newFiles, lostFiles, newInKernel, lostInKernel, isKnown }, nothing)
  })
})

/** A control group goes when it has no process and no group below it. */
function removeGroup(path: string): void {
  if (!existsSync(path)) return
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(join(path, entry.name))
  rmdirSync(path)
}
