import assert from 'node:assert/strict'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { missingCluster, RealCluster } from '../../helpers/real-cluster.ts'
import { untilAsync } from '../../helpers/until.ts'
import type { ServiceLoad } from './service-load.program.ts'

/** Fewer where the machine has little time for kube-apiserver. */
const serviceCount = Number(process.env['PLATNET_TEST_SERVICES'] ?? 10_000)
const [service, dns, name] = ['10.96.0.80', '10.96.0.10', 'web.default.svc.cluster.local']
const deadlineMs = 180_000
/**
 * Longer than the 90 s after which a watch without a byte counts as dead. The agent has no timer that is longer than that but the ends of
 * watches, so that ten minutes would show no more.
 */
const silenceMs = 110_000

describe('an agent beside a kube-apiserver with 10,000 Services that is gone for a while', {
  skip: missingCluster(),
}, () => {
  let cluster: RealCluster
  let command: readonly string[] = []
  const seen = { ages: [] as number[], before: '', after: '', monitor: '', load: {} as ServiceLoad, added: '' }

  const metric = async (pattern: RegExp) => {
    const lines = (await cluster.run('curl', '-s', 'http://127.0.0.1:10249/metrics')).split('\n')
    return lines.filter((line) => pattern.test(line)).map((line) => Number(line.split(' ').at(-1)))
  }
  const ages = () => metric(/^platnet_client_stale_seconds\{/)
  /** Without the counters of packets. */
  const readRules = async () => (await cluster.run('iptables-save')).replaceAll(/^[#:].*$/gm, '')
  const pidOf = async (name: string) => (await cluster.run('pgrep', '-xo', name)).trim()

  async function createMany(): Promise<void> {
    const ca = join(cluster.state, 'ca.crt')
    const program = [
      join(import.meta.dirname, 'many-services.program.ts'),
      'https://192.168.77.2:6443',
      ca,
      'admintoken',
    ]
    await cluster.run(process.execPath, ...program, String(serviceCount))
    const isWritten = async () => (await readRules()).split('-j PLAT-SEP').length > serviceCount
    await untilAsync('all Services have rules', isWritten, deadlineMs)
  }

  before(async () => {
    cluster = await RealCluster.start({ PLANE: 'platnet' })
    await cluster.kubectl('apply', '-f', join(import.meta.dirname, 'web.yaml'))
    await cluster.kubectl('rollout', 'status', 'deployment', 'web', '--timeout=2m')
    await createMany()
    // At the return it would find that the node has not reported for long, and take its endpoints away. The kernel's name has 15 letters.
    await cluster.run('kill', await pidOf('kube-controller'))
    await sleep(10_000)
    seen.before = await readRules()
    const monitor = await cluster.start('nft', 'monitor')
    const load = await cluster.start(
      process.execPath,
      join(import.meta.dirname, 'service-load.program.ts'),
      service,
      dns,
      name,
    )
    const outputs = [monitor, load].map(({ stdout }) => (stdout === null ? '' : text(stdout)))
    const pid = await pidOf('kube-apiserver')
    command = (await cluster.run('cat', `/proc/${pid}/cmdline`)).split('\0').filter((word) => word !== '')
    await cluster.run('kill', '-STOP', pid)
    await sleep(silenceMs)
    seen.ages.push(...(await ages()))
    await cluster.run('kill', '-KILL', pid)
    await sleep(10_000)
    const log = join(cluster.state, 'logs/kube-apiserver.log')
    await cluster.start('env', '-C', cluster.state, 'sh', '-c', `exec "$@" >>'${log}' 2>&1`, 'sh', ...command)
    await untilAsync('the agent is in step', async () => (await ages()).every((age) => age === 0), deadlineMs)
    await sleep(10_000)
    seen.after = await readRules()
    load.stdin?.end()
    monitor.kill('SIGTERM')
    const [monitored = '', loaded = ''] = await Promise.all(outputs)
    seen.monitor = monitored
    seen.load = JSON.parse(loaded)
    await cluster.kubectl('create', 'service', 'clusterip', 'later', '--tcp=80:80', '--clusterip=10.96.0.81')
    await untilAsync('a change arrives', async () => (await readRules()).includes('10.96.0.81'), deadlineMs)
    seen.added = await cluster.run('dig', '+short', 'later.default.svc.cluster.local', `@${dns}`)
  })
  after(async () => cluster?.[Symbol.asyncDispose]())

  test('The age of each collection is a metric.', () => {
    assert.ok(seen.ages.length >= 4, `${seen.ages.length} collections`)
    for (const age of seen.ages) assert.ok(age > 60, `${age} s`)
  })

  test('Rules stay as they were, Services and names answer each request.', () => {
    assert.equal(seen.after, seen.before)
    const { fresh, held, names } = seen.load
    for (const { asked, failures } of [fresh, held, names]) {
      assert.ok(asked > 500, `${asked} were asked`)
      assert.deepEqual(failures, [])
    }
  })

  test('Neither the absence nor the return of the API server writes anything into the kernel.', () => {
    assert.equal(seen.monitor, '')
  })

  test('Changes after the return arrive.', () => {
    assert.equal(seen.added.trim(), '10.96.0.81')
  })
})
