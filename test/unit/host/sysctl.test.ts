import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { probeSysctls } from '../../../src/host/probes.ts'
import { applySysctls, nodeSysctls } from '../../../src/host/sysctl.ts'

const root = await mkdtemp(join(tmpdir(), 'plt-sysctl-'))
after(() => rm(root, { recursive: true }))

async function put(name: string, value: string): Promise<void> {
  await mkdir(join(root, name, '..'), { recursive: true })
  await writeFile(join(root, name), value)
}

test('settings are set, left alone where they are larger, and reported where they are missing', async () => {
  await put('net/ipv4/ip_forward', '0\n')
  await put('net/netfilter/nf_conntrack_max', '262144\n')
  await put('net/netfilter/nf_conntrack_tcp_timeout_established', '600\n')
  const results = await applySysctls(nodeSysctls, root)
  assert.deepEqual(
    results.map(({ was, now, problem }) => [was, now, problem?.slice(0, 18)]),
    [
      [0, 1, undefined],
      [undefined, undefined, 'the kernel has no '],
      [262144, 262144, undefined],
      [600, 86400, undefined],
    ],
  )
  assert.equal(await readFile(join(root, 'net/ipv4/ip_forward'), 'utf8'), '1\n')
  const findings = await probeSysctls(root)
  assert.deepEqual(
    findings.map((finding) => finding.level),
    ['ok', 'warn', 'ok', 'ok'],
  )
  assert.match(findings[1]?.what ?? '', /bridge-nf-call-iptables is missing: /)
})

test('a setting that cannot be written is reported, not thrown', async () => {
  const wish = { name: 'oom_score', value: 5000, why: 'it is a test' }
  const [result] = await applySysctls([wish], '/proc/self')
  assert.ok(result)
  assert.equal(result.now, result.was)
  assert.match(result.problem ?? '', /^E[A-Z]+: .*: it is a test$/)
})
