import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDialect } from '../../../../src/model/dialect.ts'
import { cleanupRoutes } from '../../../../src/node/routes/index.ts'
import { applyRoutes } from '../../../../src/node/routes/ip-batch.ts'
import { RoutesPlane } from '../../../../src/node/routes/plane.ts'
import { ClusterAddresses, createSharedInformers } from '../../../../src/node/state/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { cidrOf, ipOf } from '../../../helpers/addresses.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { clientOfServer } from '../../../helpers/controllers.ts'
import { NetnsLab, skipReason, type TestNetns } from '../../../helpers/netns.ts'
import { until, untilAsync } from '../../../helpers/until.ts'

/** As the API of another cluster may hold it: ours refuses some of these networks. */
function nodesOf(server: TestServer) {
  const dialect = createDialect('kubernetes')
  return createSharedInformers({ client: clientOfServer(server), dialect, log: silentLogger }).nodes
}

const hostileNetworks = [
  '0.0.0.0/0',
  '0.0.0.0/1',
  '10.0.0.0/8',
  '192.168.7.0/24',
  '192.168.7.0/25',
  '10.244.0.0/16',
  '10.244.0.0/24',
  '10.244.1.0/24',
  '10.244.1.128/25',
  '10.244.9.0/24',
  '::/0',
  'fd00:7::/64',
]

describe('routes that are not ours survive a hostile Node', {
  skip: skipReason('nft', 'bridge'),
}, () => {
  const lab = new NetnsLab()
  let server: TestServer
  let netns: TestNetns
  const patch = { 'content-type': 'application/merge-patch+json' }

  before(async () => {
    server = await startTestServer()
    netns = await lab.create()
    for (const line of [
      'link set lo up',
      'link add lan type veth peer name far',
      'link set far up',
      'link set lan up',
      'address add 192.168.7.2/24 dev lan',
      'address add fd00:7::2/64 dev lan nodad',
      'route add default via 192.168.7.1 dev lan metric 100',
      'route add 10.244.9.0/24 via 192.168.7.9 dev lan metric 50',
      '-6 route add default via fd00:7::1 dev lan',
      'link add cni0 type bridge',
      'link set cni0 up',
      'address add 10.244.0.1/24 dev cni0',
    ])
      await netns.exec('ip', ...line.split(' '))
    await make('self', '192.168.7.2', '10.244.0.0/24')
    await make('peer', '192.168.7.3', '10.244.1.0/24')
    // Ages are in whole seconds; of Nodes that are equally old the uid decides.
    await sleep(1100)
  })
  after(async () => {
    await lab.remove()
    await server[Symbol.asyncDispose]()
  })

  async function make(name: string, ip: string, podCIDR?: string) {
    const status = { addresses: [{ type: 'InternalIP', address: ip }] }
    const spec = podCIDR === undefined ? {} : { podCIDR, podCIDRs: [podCIDR] }
    const { code, body } = await server.call('POST', '/api/v1/nodes', { body: { metadata: { name }, spec, status } })
    assert.equal(code, 201, JSON.stringify(body))
  }

  /** What `spec.podCIDR` says in the store, past the checks of our API. */
  async function force(name: string, podCIDRs: readonly string[]) {
    const entry = await server.store.get(`/registry/nodes/${name}`)
    assert.ok(entry)
    const node = JSON.parse(entry.value)
    node.spec = { podCIDR: podCIDRs[0], podCIDRs }
    const value = JSON.stringify(node)
    await server.store.commit([{ kind: 'put', key: entry.key, value, expectedRevision: entry.revision }])
  }

  /** Without what the kernel adds some time after a link has lost its carrier, as a bridge without ports has none. */
  async function routes(): Promise<readonly string[]> {
    const text = [await netns.exec('ip', 'route', 'show'), await netns.exec('ip', '-6', 'route', 'show')].join('')
    return text
      .split('\n')
      .map((line) => line.replace(/ linkdown\b/, '').trim())
      .filter((line) => line !== '' && !line.startsWith('fe80'))
  }

  for (const mode of ['host-gw', 'vxlan'] as const) {
    test(`its creation, changes and deletion leave them as they are (${mode})`, async () => {
      const foreign = await routes()
      const refusedCounts: number[] = []
      const plane = new RoutesPlane({
        nodesOfCluster: nodesOf(server),
        nodeName: 'self',
        mode,
        clusterCidrs: [cidrOf('10.244.0.0/16'), cidrOf('fd00:10:244::/56')],
        addresses: new ClusterAddresses(0),
        leadsToOthers: true,
        isWanted: async () => true,
        metrics: { setRefusedClaims: (refused) => refusedCounts.push(refused.length) },
        log: silentLogger,
        run: netns.run,
      })
      const signal = AbortSignal.timeout(60_000)
      await plane.start({ signal })
      try {
        const toPeer = () => routes().then((all) => all.some((line) => line.startsWith('10.244.1.0/24 ')))
        await untilAsync('the route to the peer', toPeer, 20_000)
        const all = await routes()
        await make('hostile', '192.168.7.66')
        for (const network of hostileNetworks) {
          const seen = refusedCounts.length
          await force('hostile', [network])
          await until('the claim is judged', () => refusedCounts.length > seen, 20_000)
          assert.equal(refusedCounts.at(-1), 1, network)
          assert.deepEqual(await routes(), all, network)
          assert.match(plane.health().message, new RegExp(`node hostile claims ${network}: `))
        }
        const seen = refusedCounts.length
        await server.call('PATCH', '/api/v1/nodes/hostile/status', {
          body: { status: { addresses: [{ type: 'InternalIP', address: '192.168.7.2' }] } },
          headers: patch,
        })
        await until('the address is judged', () => refusedCounts.length > seen, 20_000)
        assert.equal(refusedCounts.at(-1), 2)
        await server.call('DELETE', '/api/v1/nodes/hostile')
        await until('it is gone', () => refusedCounts.at(-1) === 0, 20_000)
        assert.deepEqual(await routes(), all)
        assert.equal(plane.health().level, 'ok')
      } finally {
        await plane.stop({ signal })
        await cleanupRoutes(netns.run)
      }
      assert.deepEqual(await routes(), foreign)
    })
  }

  test('without the component routes only the list is installed, and routes of ours are taken away', async () => {
    const foreign = await routes()
    await netns.exec('ip', 'route', 'add', '10.244.1.0/24', 'via', '192.168.7.3', 'proto', '143')
    const networks: (readonly string[])[] = []
    const plane = new RoutesPlane({
      nodesOfCluster: nodesOf(server),
      nodeName: 'self',
      mode: 'host-gw',
      clusterCidrs: [cidrOf('10.244.0.0/16')],
      addresses: new ClusterAddresses(0),
      leadsToOthers: false,
      onPodCidrs: async (podCidrs) => {
        networks.push(podCidrs)
      },
      isWanted: async () => true,
      metrics: { setRefusedClaims: () => {} },
      log: silentLogger,
      run: netns.run,
    })
    const signal = AbortSignal.timeout(30_000)
    await plane.start({ signal })
    try {
      const isClean = async () => !(await routes()).some((line) => line.includes('proto 143'))
      await untilAsync('the route is gone', isClean, 20_000)
      await until('the list is installed, after the routes', () => networks.length > 0)
      assert.deepEqual(networks, [['10.244.0.0/24']])
      assert.match(await netns.exec('nft', 'list', 'table', 'inet', 'platnet-pods'), /saddr 10\.244\.0\.0\/24 /)
    } finally {
      await plane.stop({ signal })
      await cleanupRoutes(netns.run)
    }
    assert.deepEqual(await routes(), foreign)
  })

  test('a plan that names the network of a foreign route changes nothing of it, neither when it comes nor when it goes', async () => {
    const foreign = await routes()
    const plan = (via: string) => ({
      routes: [
        { destination: cidrOf('192.168.7.0/24'), via: ipOf(via) },
        { destination: cidrOf('10.244.2.0/24'), via: ipOf(via) },
      ],
      vxlan: undefined,
    })
    for (const via of ['192.168.7.66', '192.168.7.67']) {
      await assert.rejects(applyRoutes(plan(via), netns.run), { code: 'failed' })
      const now = await routes()
      assert.deepEqual(
        now.filter((line) => !line.startsWith('10.244.2.0')),
        foreign,
      )
      assert.ok(
        now.some((line) => line.startsWith(`10.244.2.0/24 via ${via} dev lan proto 143`)),
        now.join('\n'),
      )
    }
    assert.deepEqual(await cleanupRoutes(netns.run), ['removed 1 routes to the pods of other nodes'])
    assert.deepEqual(await routes(), foreign)
  })
})
