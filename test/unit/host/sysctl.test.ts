import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { probeSysctls } from '../../../src/host/probes.ts'
import { applySysctls, conntrackSysctls, nodeSysctls } from '../../../src/host/sysctl.ts'

const root = await mkdtemp(join(tmpdir(), 'plt-sysctl-'))
after(() => rm(root, { recursive: true }))

async function put(name: string, value: string): Promise<void> {
  await mkdir(join(root, name, '..'), { recursive: true })
  await writeFile(join(root, name), value)
}

const likeKubeProxy = {
  maxPerCore: 32_768,
  min: 131_072,
  tcpEstablishedMs: 86_400_000,
  tcpCloseWaitMs: 3_600_000,
  tcpBeLiberal: false,
  udpMs: 0,
  udpStreamMs: 0,
}

const valuesOf = (wishes: Partial<typeof likeKubeProxy>, cores: number) =>
  Object.fromEntries(
    conntrackSysctls({ ...likeKubeProxy, ...wishes }, cores).map(({ name, value }) => [
      name.replace('net/netfilter/nf_conntrack_', ''),
      value,
    ]),
  )

test('settings are set, left alone where a table is larger, and reported where they are missing', async () => {
  await put('net/ipv4/ip_forward', '0\n')
  await put('net/netfilter/nf_conntrack_max', '262144\n')
  await put('net/netfilter/nf_conntrack_buckets', '1024\n')
  await put('net/netfilter/nf_conntrack_tcp_timeout_established', '432000\n')
  await put('net/netfilter/nf_conntrack_tcp_timeout_close_wait', '60\n')
  const wishes = [...nodeSysctls, ...conntrackSysctls(likeKubeProxy, 2)]
  const results = await applySysctls(wishes, root)
  assert.deepEqual(
    results.map(({ was, now, problem }) => [was, now, problem?.slice(0, 18)]),
    [
      [0, 1, undefined],
      [undefined, undefined, 'the kernel has no '],
      [262144, 262144, undefined],
      [1024, 32768, undefined],
      [432000, 86400, undefined],
      [60, 3600, undefined],
    ],
  )
  assert.equal(await readFile(join(root, 'net/ipv4/ip_forward'), 'utf8'), '1\n')
  const findings = await probeSysctls(wishes, root)
  assert.deepEqual(
    findings.map((finding) => finding.level),
    ['ok', 'warn', 'ok', 'ok', 'ok', 'ok'],
  )
  assert.match(findings[1]?.what ?? '', /bridge-nf-call-iptables is missing: /)
})

test('the table of connections has room by the cores and at least so much; 0 leaves a setting as it is', () => {
  const timeouts = { tcp_timeout_established: 86_400, tcp_timeout_close_wait: 3600 }
  assert.deepEqual(valuesOf({}, 2), { max: 131_072, buckets: 32_768, ...timeouts })
  assert.deepEqual(valuesOf({}, 16), { max: 524_288, buckets: 131_072, ...timeouts })
  assert.deepEqual(valuesOf({ maxPerCore: 0 }, 16), timeouts)
  assert.deepEqual(valuesOf({ maxPerCore: 0, tcpEstablishedMs: 0, tcpCloseWaitMs: 0 }, 16), {})
  const udp = valuesOf({ maxPerCore: 0, tcpBeLiberal: true, udpMs: 90_500, udpStreamMs: 180_000 }, 1)
  assert.deepEqual(udp, { ...timeouts, tcp_be_liberal: 1, udp_timeout: 91, udp_timeout_stream: 180 })
})

test('a setting that cannot be written is reported, not thrown', async () => {
  const wish = { name: 'oom_score', value: 5000, why: 'it is a test' }
  const [result] = await applySysctls([wish], '/proc/self')
  assert.ok(result)
  assert.equal(result.now, result.was)
  assert.match(result.problem ?? '', /^E[A-Z]+: .*: it is a test$/)
})
