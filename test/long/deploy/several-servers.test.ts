import assert from 'node:assert/strict'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AwayServer, ownPort } from '../../helpers/away-server.ts'
import { AgentOfMany, endpointOf } from '../../helpers/many-services.ts'
import { missingCluster, RealCluster } from '../../helpers/real-cluster.ts'
import { serverAddresses, startServers } from '../../helpers/server-set.ts'
import { untilAsync } from '../../helpers/until.ts'
import type { ServiceLoad } from './service-load.program.ts'

/** Fewer where the machine has little time for kube-apiserver. */
const serviceCount = Number(process.env['PLATNET_TEST_SERVICES'] ?? 10_000)
const [service, dns, name] = ['10.96.0.80', '10.96.0.10', 'web.default.svc.cluster.local']
/** A watch without a byte counts as dead after 90 s; the next server is asked then. */
const silentMs = 100_000
const awayMs = 20_000
const deadlineMs = 300_000
const movedEndpoint = (index: number) => `10.245.0.${index + 1}`

const cells = [
  { control: 'kubernetes', mode: 'iptables' },
  { control: 'platnet', mode: 'nftables' },
] as const
const chosen = (process.env['PLATNET_TEST_SERVERS'] ?? 'kubernetes,platnet').split(',')

for (const { control, mode } of cells) {
  const title = `an agent with ${serviceCount} Services and three API servers, which go one after the other: ${control}, ${mode}`
  const skip = missingCluster() || (!chosen.includes(control) && 'not chosen by PLATNET_TEST_SERVERS')
  describe(title, { skip }, () => {
    let cluster: RealCluster
    let agent: AgentOfMany
    let servers: readonly AwayServer[] = []
    const seen = {
      before: [] as readonly string[],
      silent: [] as readonly number[],
      away: [] as readonly number[],
      monitor: '',
      /** Seconds until a change at the next server was in the kernel. */
      followedSeconds: [] as number[],
      returned: [] as readonly string[],
      refusals: [] as readonly number[],
      /** The Services whose endpoints move. */
      owners: [] as readonly string[],
      load: {} as ServiceLoad,
    }
    const at = (index: number): AwayServer => servers[index] ?? assert.fail(`no server ${index}`)

    /** Moves the endpoint of a Service by way of one server, and waits until the kernel has it. */
    async function moveEndpoint(server: number, address = movedEndpoint(server)): Promise<void> {
      const startedMs = performance.now()
      const patch = JSON.stringify({ endpoints: [{ addresses: [address], conditions: { ready: true } }] })
      const slice = ['endpointslice', `many-${server}`]
      await at(server).kubectl(ownPort, 'patch', ...slice, '--type', 'merge', '-p', patch)
      await agent.untilWritten(address)
      seen.followedSeconds.push(Math.round((performance.now() - startedMs) / 100) / 10)
    }

    /** One is silent, then gone; the next is killed, then the last; the second comes back, then all. */
    async function goOneByOne(): Promise<void> {
      await at(0).pause()
      await sleep(silentMs)
      seen.silent = await agent.ages()
      await moveEndpoint(1)
      await at(0).kill()
      await at(1).kill()
      await moveEndpoint(2)
      await at(2).kill()
      await sleep(awayMs)
      seen.away = await agent.ages()
      await at(1).start()
      await agent.inStep()
      await moveEndpoint(1, endpointOf(1))
      await at(2).start()
      await moveEndpoint(2, endpointOf(2))
      await at(0).start()
      await sleep(silentMs)
      await agent.inStep()
    }

    before(async () => {
      const options = `--proxy-mode ${mode} --server ${serverAddresses.map((each) => `https://${each}:${ownPort}`).join()}`
      const store = '--store etcd --etcd-servers http://127.0.0.1:2379'
      cluster = await RealCluster.start({ CONTROL: control, AGENT_OPTIONS: options, SERVER_OPTIONS: store })
      await cluster.kubectl('apply', '-f', join(import.meta.dirname, 'web.yaml'))
      await cluster.kubectl('rollout', 'status', 'deployment', 'web', '--timeout=2m')
      // It asks one server alone, and would take the endpoints of a node away that did not report.
      if (control === 'kubernetes') await cluster.run('pkill', '-x', 'kube-controller')
      servers = await startServers(cluster, control)
      agent = new AgentOfMany(cluster, mode)
      await agent.createServices(serviceCount, control === 'kubernetes' ? 'ca.crt' : 'platnet-ca.crt')
      await agent.inStep()
      await untilAsync('all servers are endpoints', hasAllServers, deadlineMs)
      seen.owners = await agent.addressesOf([1, 2])
      seen.before = await agent.readRules()
      const program = [process.execPath, join(import.meta.dirname, 'service-load.program.ts'), service, dns, name]
      const load = await cluster.start('env', ...program)
      const loaded = load.stdout === null ? '' : text(load.stdout)
      seen.monitor = await agent.monitored(goOneByOne)
      await untilAsync('all servers are endpoints again', hasAllServers, deadlineMs)
      seen.returned = await agent.readRules()
      // 403 is what kube-apiserver answers at its start, until it has read the roles.
      seen.refusals = await agent.metric(/^rest_client_requests_total\{.*code="401"/)
      load.stdin?.end()
      seen.load = JSON.parse(await loaded)
    })
    after(async () => cluster?.[Symbol.asyncDispose]())

    /** Whether the rules have each server as an endpoint of the Service `kubernetes`. */
    async function hasAllServers(): Promise<boolean> {
      const rules = await agent.readText()
      return serverAddresses.every((address) =>
        new RegExp(`\\b${RegExp.escape(address)}[: .]+${ownPort}\\b`).test(rules),
      )
    }

    test('The agent follows the next server once one is silent or gone, and the first one that comes back.', (context) => {
      context.diagnostic(`changes were in the kernel after ${seen.followedSeconds.join(', ')} s`)
      assert.equal(seen.followedSeconds.length, 4)
      for (const age of seen.silent) assert.equal(age, 0)
      for (const seconds of seen.followedSeconds) assert.ok(seconds < 30, `${seconds} s`)
    })

    test('The age of each collection is a metric while no server is there.', () => {
      assert.ok(seen.away.length >= 4, `${seen.away.length} collections`)
      for (const age of seen.away) assert.ok(age > 0.9 * (awayMs / 1_000), `${age} s`)
    })

    test('Services and names answer each request, throughout, and no server refuses the token of the agent.', (context) => {
      const { fresh, held, names } = seen.load
      for (const { asked, failures, slowestMs } of [fresh, held, names]) {
        context.diagnostic(`${asked}, slowest ${slowestMs} ms`)
        assert.ok(asked > 500, `${asked} were asked`)
        assert.deepEqual(failures, [])
      }
      assert.deepEqual(seen.refusals, [])
    })

    test('Nothing is written but what changed: two endpoints, and the servers as endpoints of their own Service.', () => {
      const changed = [1, 2].flatMap((index) => [movedEndpoint(index), endpointOf(index)])
      const own = ['10.96.0.1', ...changed, ...seen.owners]
      assert.deepEqual(agent.foreignAddresses(seen.monitor, own), [])
      const withoutState = (rules: readonly string[]) => rules.filter((rule) => !rule.startsWith('-A PLAT-STATE '))
      assert.deepEqual(withoutState(seen.returned), withoutState(seen.before))
    })
  })
}
