import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

const answer = z.object({ pod: z.string(), source: z.string() })
const seenSchema = z.object({
  pods: z.array(z.object({ name: z.string(), address: z.string() })),
  offCluster: answer,
  nodePort: answer,
  clusterIp: z.string(),
  asked: z.array(answer),
  counted: z.array(z.object({ name: z.string(), isUsed: z.boolean(), connections: z.number().optional() })),
  asks: z.record(z.string(), z.object({ code: z.number(), text: z.string() })),
  relist: z.object({ lists: z.number(), ruleEvents: z.array(z.string()) }),
  rulesKept: z.boolean(),
})

const podGateway = '10.244.0.1'

for (const [dialect, mode] of [
  ['platform', 'iptables'],
  ['kubernetes', 'iptables'],
  ['kubernetes', 'nftables'],
] as const) {
  describe(`a node that serves a Service by ${mode}, its API server in the ${dialect} dialect`, {
    skip: skipReason('iptables', 'nft', 'curl', 'ip'),
  }, () => {
    let seen: z.infer<typeof seenSchema>

    before(async () => {
      const program = path.join(import.meta.dirname, 'served-node.program.ts')
      const { exitCode, stdout } = await runIsolated(program, [dialect, mode], {
        signal: AbortSignal.timeout(60_000),
        stdout: 'pipe',
      })
      assert.equal(exitCode, 0, stdout)
      seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
    })

    test('every one of 3 endpoints gets its share of 90 connections: 30, and within 5 standard deviations of it', () => {
      const bound = 5 * Math.sqrt(90 * (1 / 3) * (2 / 3))
      for (const { name } of seen.pods) {
        const count = seen.asked.filter(({ pod }) => pod === name).length
        assert.ok(Math.abs(count - 30) <= bound, `${name} got ${count} of 90`)
      }
    })

    // The rules of the mode nftables count nothing.
    const counts = mode === 'iptables' ? test : () => {}
    counts('the web console counts the 92 connections at the endpoints that answered them', () => {
      const answers = [...seen.asked, seen.offCluster, seen.nodePort]
      const expected = seen.pods.map(({ name, address }) => ({
        name: `${address}:8080`,
        isUsed: true,
        connections: answers.filter(({ pod }) => pod === name).length,
      }))
      assert.deepEqual(
        seen.counted,
        expected.sort((one, other) => (one.name < other.name ? -1 : 1)),
      )
    })

    test('a client outside the cluster is masqueraded on its way to a ClusterIP and to a node port', () => {
      assert.equal(seen.offCluster.source, podGateway)
      assert.equal(seen.nodePort.source, podGateway)
    })

    test('a pod keeps its address on its way to other pods and is masqueraded only on its way to itself', () => {
      const asking = seen.pods[0]
      assert.ok(asking)
      for (const { pod, source } of seen.asked) {
        assert.equal(source, pod === asking.name ? podGateway : asking.address, `to ${pod}`)
      }
    })

    const said = (question: string) => seen.asks[question] ?? assert.fail(question)

    test('platnet status tells what is served, and platnet plan that the kernel holds it', () => {
      const { proxy, applied, components } = JSON.parse(said('status').text)
      const [ipv4] = proxy
      assert.equal(ipv4.family, 'IPv4')
      assert.ok(ipv4.services >= 1 && ipv4.lastSync.atMs > 0, JSON.stringify(ipv4))
      assert.deepEqual([ipv4.setAside, applied.failing], [[], []])
      assert.equal(applied.planes.proxy, applied.revision)
      assert.equal(components[mode === 'iptables' ? 'rules' : 'nft-rules'].level, 'ok')
      assert.equal(ipv4.mode, mode)
      assert.deepEqual(
        [said('plan').code, said('plan').text.split('\n')[0]],
        [0, 'IPv4 Services: the kernel holds the rules that it should'],
      )
    })

    test('platnet explain says of a connection which Service, rules and endpoints decide', () => {
      const [pod] = seen.pods
      assert.match(said('fromPod').text, /is the cluster IP of default\/web/)
      assert.match(said('fromPod').text, new RegExp(`With 33.3 % it is sent to the endpoint ${pod?.address}:`))
      assert.match(said('fromClient').text, /is (a|the) node port of default\/web/)
      assert.match(said('fromClient').text, /its source replaced by an address of this node/)
      assert.match(said('elsewhere').text, /no Service/)
    })

    test('platnet explain covers network policies: of two pods by name, and of every endpoint of a Service', () => {
      const [from, to, other] = seen.pods
      assert.match(
        said('podToPod').text,
        new RegExp(`deny TCP port 80 from pod default/${from?.name} \\(.*\\) to pod default/${to?.name} `),
      )
      assert.match(said('podToPod').text, /default\/deny has no ingress rules\./)
      const { text } = said('throughService')
      assert.match(
        text,
        new RegExp(`allow TCP port \\d+ from pod default/${from?.name} .* to pod default/${other?.name} `),
      )
      assert.match(text, new RegExp(`deny TCP port \\d+ from pod default/${from?.name} .* to pod default/${to?.name} `))
      assert.doesNotMatch(text, /does not enforce network policies/)
    })

    counts('platnet explain service names its chains and what they counted', () => {
      const { text } = said('service')
      const counted = text.matchAll(/PLAT-SEP-\w+: (\d+) packets/g).map(([, packets]) => Number(packets))
      assert.ok(counted.reduce((sum, packets) => sum + packets, 0) >= seen.asked.length, text)
    })

    test('platnet explain service names its endpoints; one that is not there is an error', () => {
      const { code, text } = said('service')
      assert.equal(code, 0)
      for (const { address } of seen.pods) assert.match(text, new RegExp(`\\+ ${address}:\\d+ .*ready`))
      assert.notEqual(said('noService').code, 0)
      assert.match(said('noService').text, /knows no Service default\/none/)
    })

    test('a full relist after a lost history causes no rule event', () => {
      assert.ok(seen.relist.lists >= 3, `only ${seen.relist.lists} resources were listed again`)
      assert.deepEqual(seen.relist.ruleEvents, [])
      assert.equal(seen.rulesKept, true)
    })
  })
}
