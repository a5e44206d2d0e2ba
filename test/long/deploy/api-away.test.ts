import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwayServer, hiddenPort } from '../../helpers/away-server.ts'
import { AgentOfMany, endpointOf } from '../../helpers/many-services.ts'
import { missingCluster, RealCluster } from '../../helpers/real-cluster.ts'
import { untilAsync } from '../../helpers/until.ts'
import type { ServiceLoad } from './service-load.program.ts'

/** Fewer where the machine has little time for kube-apiserver. */
const serviceCount = Number(process.env['PLATNET_TEST_SERVICES'] ?? 10_000)
const [service, dns, name] = ['10.96.0.80', '10.96.0.10', 'web.default.svc.cluster.local']
const deadlineMs = 300_000
/**
 * Longer than the 90 s after which a watch without a byte counts as dead. The agent has no timer that is longer than that but the ends of
 * watches, so that ten minutes would show no more.
 */
const silenceMs = Number(process.env['PLATNET_TEST_SILENCE_MS'] ?? 110_000)
/** Services that are made again with another address, and those that get another endpoint. */
const [renewed, moved] = [50, 20]
/** In the first 256 addresses of the range, of which none is given out while others are free. */
const renewedAddress = (index: number) => `10.96.0.${100 + index}`
const movedEndpoint = (index: number) => `10.245.0.${index}`
const indexes = Array.from({ length: renewed + moved }, (_, index) => index)

const cells = [
  { control: 'kubernetes', mode: 'iptables' },
  { control: 'kubernetes', mode: 'nftables' },
  { control: 'platnet', mode: 'iptables' },
  { control: 'platnet', mode: 'nftables' },
] as const
/** Each server and each mode once; a file of tests has half an hour. */
const chosen = (process.env['PLATNET_TEST_AWAY'] ?? 'kubernetes-nftables,platnet-iptables').split(',')

/** The objects that change while the agent sees no server. */
function changedObjects(): readonly object[] {
  const port = { port: 80, targetPort: 8080 }
  return indexes.map((index) => {
    const metadata = { name: `many-${index}` }
    const spec = { clusterIP: renewedAddress(index), ports: [port] }
    if (index < renewed) return { apiVersion: 'v1', kind: 'Service', metadata, spec }
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [movedEndpoint(index)], conditions: { ready: true } }],
      ports: [{ port: 8080 }],
    }
  })
}

for (const { control, mode } of cells) {
  const title = `an agent with ${serviceCount} Services whose API server is gone for a while: ${control}, ${mode}`
  const skip = missingCluster() || (!chosen.includes(`${control}-${mode}`) && 'not chosen by PLATNET_TEST_AWAY')
  describe(title, { skip }, () => {
    let cluster: RealCluster
    let server: AwayServer
    let agent: AgentOfMany
    let oldAddresses: readonly string[] = []
    const seen = {
      ages: [] as number[],
      refused: 0,
      before: [] as string[],
      returned: [] as string[],
      changed: '',
      restored: [] as string[],
      monitor: '',
      changes: '',
      load: {} as ServiceLoad,
      renewedName: '',
      restoredName: '',
    }

    const pidOf = async (...how: readonly string[]) => (await cluster.run('pgrep', ...how)).trim()
    const dig = async () => (await cluster.run('dig', '+short', 'many-0.default.svc.cluster.local', `@${dns}`)).trim()
    /** The addresses of everything that changes. The server at its hidden port is the endpoint of the Service kubernetes for a while. */
    const changedAddresses = () => [
      '10.96.0.1',
      ...oldAddresses,
      ...indexes.flatMap((index) => [renewedAddress(index), endpointOf(index), movedEndpoint(index)]),
    ]

    /** A token that dies with a Secret, in the file that the agent reads; the result is one that lives. */
    async function shortenToken(): Promise<string> {
      const create = ['-n', 'kube-system', 'create']
      await cluster.kubectl(...create, 'secret', 'generic', 'away')
      const bound = ['--bound-object-kind', 'Secret', '--bound-object-name', 'away']
      writeFileSync(join(cluster.state, 'agent.token'), await cluster.kubectl(...create, 'token', 'platnet', ...bound))
      await cluster.kubectl('-n', 'kube-system', 'delete', 'secret', 'away')
      return cluster.kubectl(...create, 'token', 'platnet', '--duration', '24h')
    }

    /** Silent, then gone; it comes back with another certificate, and takes the agent's token no more until that has another. */
    async function goUnchanged(): Promise<void> {
      const token = await shortenToken()
      await server.pause()
      await sleep(silenceMs)
      seen.ages.push(...(await agent.ages()))
      await server.kill()
      await server.renewCertificate()
      await server.backUp()
      await sleep(10_000)
      await server.start()
      const isRefused = async () =>
        (await agent.metric(/^rest_client_requests_total\{.*code="401"/)).some((count) => count > 0)
      await untilAsync('the old token is refused', isRefused, deadlineMs)
      seen.refused = (await agent.ages()).filter((age) => age > 0).length
      writeFileSync(join(cluster.state, 'agent.token'), token)
      await agent.inStep()
      await sleep(10_000)
      seen.returned = await agent.readRules()
    }

    /** Objects change while the agent sees no server, and the history of that is forgotten. */
    async function goAndChange(): Promise<void> {
      await server.kill()
      await server.start(hiddenPort)
      const file = join(cluster.state, 'changes.json')
      writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: changedObjects() }))
      await server.kubectl(hiddenPort, 'delete', '-f', file)
      await server.kubectl(hiddenPort, 'create', '-f', file)
      await server.compact()
      await server.kill()
      await server.start()
      await agent.untilWritten(renewedAddress(0))
      await agent.inStep()
      await sleep(5_000)
      seen.changed = await agent.readText()
      seen.renewedName = await dig()
    }

    /** The server comes back with the state of before these changes. */
    async function goBack(): Promise<void> {
      await server.kill()
      await server.restore()
      await server.start()
      await agent.untilWritten(oldAddresses[0] ?? '')
      await agent.inStep()
      await sleep(5_000)
      seen.restored = await agent.readRules()
      seen.restoredName = await dig()
    }

    before(async () => {
      const options = `--proxy-mode ${mode}`
      cluster = await RealCluster.start({ PLANE: 'platnet', CONTROL: control, AGENT_OPTIONS: options })
      server = new AwayServer(cluster, control)
      await server.learn()
      await cluster.kubectl('apply', '-f', join(import.meta.dirname, 'web.yaml'))
      await cluster.kubectl('rollout', 'status', 'deployment', 'web', '--timeout=2m')
      agent = new AgentOfMany(cluster, mode)
      await agent.createServices(serviceCount, control === 'kubernetes' ? 'ca.crt' : 'platnet-ca.crt')
      oldAddresses = await agent.addressesOf(indexes)
      // At the return it would find that the node has not reported for long, and take its endpoints away. The kernel's name has 15 letters.
      if (control === 'kubernetes') await cluster.run('kill', await pidOf('-xo', 'kube-controller'))
      await sleep(10_000)
      seen.before = await agent.readRules()
      const program = [process.execPath, join(import.meta.dirname, 'service-load.program.ts'), service, dns, name]
      const load = await cluster.start('env', ...program)
      const loaded = load.stdout === null ? '' : text(load.stdout)
      seen.monitor = await agent.monitored(goUnchanged)
      seen.changes = await agent.monitored(goAndChange)
      await goBack()
      load.stdin?.end()
      seen.load = JSON.parse(await loaded)
    })
    after(async () => cluster?.[Symbol.asyncDispose]())

    test('The age of each collection is a metric, also where the server refuses the token of the agent.', () => {
      assert.ok(seen.ages.length >= 4, `${seen.ages.length} collections`)
      for (const age of seen.ages) assert.ok(age > 60, `${age} s`)
      assert.ok(seen.refused > 0)
    })

    test('Services and names answer each request, throughout.', (context) => {
      const { fresh, held, names } = seen.load
      for (const { asked, failures, slowestMs } of [fresh, held, names]) {
        context.diagnostic(`${asked}, slowest ${slowestMs} ms`)
        assert.ok(asked > 500, `${asked} were asked`)
        assert.deepEqual(failures, [])
      }
    })

    test('Neither the absence nor the return of an unchanged server writes anything into the kernel.', () => {
      assert.equal(seen.monitor, '')
      assert.deepEqual(seen.returned, seen.before)
    })

    test('What changed meanwhile is written, and nothing else.', () => {
      assert.deepEqual(agent.foreignAddresses(seen.changes, changedAddresses()), [])
      for (const index of indexes.slice(0, renewed)) {
        assert.ok(seen.changed.includes(renewedAddress(index)))
        assert.doesNotMatch(seen.changed, new RegExp(`\\b${oldAddresses[index]}\\b`))
      }
      for (const index of indexes.slice(renewed)) assert.ok(seen.changed.includes(movedEndpoint(index)))
      assert.equal(seen.renewedName, renewedAddress(0))
    })

    test('Where the server comes back with the state of a backup, so do rules and names.', () => {
      // Each table says for which objects it was written last.
      const withoutState = (rules: readonly string[]) => rules.filter((rule) => !rule.startsWith('-A PLAT-STATE '))
      assert.deepEqual(withoutState(seen.restored), withoutState(seen.before))
      assert.equal(seen.restoredName, oldAddresses[0])
    })
  })
}
