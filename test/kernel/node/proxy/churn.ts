import assert from 'node:assert/strict'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { listFlows } from '../../../../src/host/conntrack.ts'
import type { LiveNodeState } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { type TestNetns, withNetns } from '../../../helpers/netns.ts'
import { until, untilAsync } from '../../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../../helpers/wire-objects.ts'
import { nodeIp, type ProxyForm, startProxy } from './proxy-fixture.ts'

const vip = '10.96.0.10'
const addresses = ['10.244.0.1', '10.244.0.2', '10.244.0.3']

const seenSchema = z.object({
  answered: z.number(),
  failures: z.record(z.string(), z.number()),
  sentByUdp: z.number(),
  answeredByUdp: z.number(),
  lateDatagrams: z.number(),
})

let version = 100

/** More ports than the two that are asked, which make the Service one of several turns. */
function idlePorts(count: number) {
  return Array.from({ length: count }, (_, index) => ({ name: `idle-${index}`, port: 10_000 + index, protocol: 'TCP' }))
}

function setReady(state: LiveNodeState, ready: readonly string[], idle: number): void {
  version += 1
  const ports = [
    { name: 'tcp', port: 8080, protocol: 'TCP' },
    { name: 'udp', port: 5353, protocol: 'UDP' },
    ...idlePorts(idle),
  ]
  const endpoints = ready.map((address) => ({ addresses: [address] }))
  const slice = wireSlice('web-1', 'web', String(version), { ports, endpoints })
  state.upsert('endpointslices', readObject('endpointslices', slice, dialect))
}

function listService(state: LiveNodeState, idle: number): void {
  const ports = [
    { name: 'tcp', port: 80, protocol: 'TCP' },
    { name: 'udp', port: 53, protocol: 'UDP' },
    ...idlePorts(idle),
  ]
  state.replace('services', [readObject('services', wireService('web', '1', { ports }), dialect)], '1')
  state.replace('endpoints', [], '1')
  state.replace('endpointslices', [], '1')
}

/** Asks the kernel: the cleaner also runs after each turn of a Service that is written in several. */
async function hasNoFlow(netns: TestNetns, endpoint: string): Promise<boolean> {
  const flows = await listFlows('IPv4', 'udp', netns.run)
  return flows.every(({ destination, replySource }) => destination !== vip || replySource !== endpoint)
}

/**
 * Endpoints of one Service come and go under load for so long, one at least always ready: no connection is refused, reset or
 * lost. Of datagrams at most those are that were on their way when the kernel forgot the flow; 50 ms later an endpoint gets none any more.
 */
export function churnUnderLoad(form: ProxyForm, durationMs: number, idle = 0): Promise<void> {
  return withNetns(async (lab) => {
    const netns = await lab.create()
    for (const address of [nodeIp, ...addresses]) await netns.exec('ip', 'address', 'add', `${address}/32`, 'dev', 'lo')
    await netns.exec('ip', 'route', 'add', '10.96.0.0/16', 'dev', 'lo', 'src', nodeIp)
    const proxy = await startProxy(netns, { form })
    const isApplied = () => proxy.applied.report().planes['proxy'] === proxy.state.revision
    try {
      listService(proxy.state, idle)
      setReady(proxy.state, addresses, idle)
      await until('the first rules are applied', isApplied, 30_000)
      const program = path.join(import.meta.dirname, 'churn.program.ts')
      const load = await netns.start(process.execPath, [program, addresses.join(), vip], {
        stdin: 'pipe',
        stdout: 'pipe',
      })
      assert.ok(load.stdout)
      const output = text(load.stdout)
      const endMs = performance.now() + durationMs
      let rounds = 0
      for (; performance.now() < endMs; rounds += 1) {
        const gone = addresses[rounds % addresses.length] ?? ''
        setReady(
          proxy.state,
          addresses.filter((address) => address !== gone),
          idle,
        )
        await until('the endpoint has left the rules', isApplied, 30_000)
        await untilAsync('its flows are forgotten', () => hasNoFlow(netns, gone), 30_000)
        load.stdin?.write(`gone ${gone} ${Date.now()}\n`)
        await sleep(rounds % 2 === 0 ? 20 : 700)
        load.stdin?.write(`back ${gone}\n`)
        setReady(proxy.state, addresses, idle)
        await until('the endpoint is back', isApplied, 30_000)
        await sleep(20)
      }
      load.stdin?.write('end\n')
      const seen = seenSchema.parse(JSON.parse(await output))
      assert.deepEqual(seen.failures, {})
      assert.equal(seen.lateDatagrams, 0)
      // In one process there are two datagrams on their way at most: one is sent each turn, and answered in the next.
      const lost = seen.sentByUdp - seen.answeredByUdp
      assert.ok(lost <= 2 * (rounds + 1), `${lost} datagrams lost in ${rounds} rounds`)
      assert.ok(seen.answered > 10 && seen.answeredByUdp > 10, JSON.stringify(seen))
    } finally {
      await proxy.stop()
    }
  })
}
