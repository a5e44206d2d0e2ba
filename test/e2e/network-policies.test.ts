import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

describe('NetworkPolicies of the API on pods that really run', {
  skip: skipReason('iptables', 'ipset', 'conntrack', 'perl', 'unshare', 'nsenter', '/usr/lib/cni/bridge'),
}, () => {
  // biome-ignore lint/suspicious/noExplicitAny: what the program saw, each part judged below
  let seen: any
  // 200 of each kind: test/long/e2e/first-packets.test.ts.
  const count = 12

  before(async () => {
    const program = resolve(import.meta.dirname, 'network-policies.program.ts')
    const signal = AbortSignal.timeout(180_000)
    const { exitCode, stdout } = await runIsolated(program, [String(count)], { signal, stdout: 'pipe' })
    assert.equal(exitCode, 0, 'the program failed; its output is above')
    seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  })

  test('a policy denies and allows by labels, and the node reaches its own pod', () => {
    assert.equal(seen.fromNode, 'web')
    assert.ok(seen.friend.includes('open'))
  })

  test('a pod under a deny does not reach anything from its first instruction on', () => {
    assert.deepEqual(seen.muted, ['silent'])
  })

  for (const [kind, title] of [
    ['run', 'pods that the agent runs'],
    ['chained', 'pods of another runtime with platnet-gate at the end of its list'],
  ] as const) {
    test(`of ${title}, which may not send and send from their first instruction, not one packet arrives`, () => {
      const { ended, denied, allowed } = seen.firstPackets[kind]
      assert.deepEqual({ ended, denied }, { ended: count, denied: 0 })
      assert.ok(allowed > 20, `only ${allowed} packets of a pod that may send arrived`)
    })
  }

  test('status says how many policies isolate how many pods', () => {
    assert.match(seen.status, /^ {2}ok +policy: 2 policies are enforced$/m)
    assert.match(
      seen.status,
      /2 NetworkPolicies; of \d+ pods here 1 isolated for ingress, 1 for egress, 0 not known yet/,
    )
  })

  test('status names the watch of the Node of Services and that of policies', () => {
    assert.match(seen.status, /^ {2}ok +node: /m)
    assert.match(seen.status, /^ {2}ok +policy-node: /m)
  })

  test('plan compares the rules and sets of policies with the kernel', () => {
    assert.match(seen.plan, /^IPv4 network policies: the kernel holds the rules that it should$/m)
  })

  test('explain names the policy that denies, and the node that enforces it', () => {
    assert.match(seen.explained, /ingress, on node node-1: denied: .*\n +default\/web spec\.ingress\[0\]/)
  })

  test('denied packets are counted by pod and logged with the pods and the reason', () => {
    const count = seen.metrics.find((line: string) =>
      line.startsWith('platnet_policy_denied_packets_total{namespace="default",pod="web",direction="ingress"}'),
    )
    assert.ok(Number(count?.split(' ').at(-1)) > 0, count)
    assert.ok(seen.metrics.includes('platnet_policy_enforcing 1'))
    const { sourcePod, destinationPod, protocol, port, reason } = seen.denial.fields
    assert.deepEqual(
      { sourcePod, destinationPod, protocol, port, reason },
      {
        sourcePod: 'default/guest',
        destinationPod: 'default/web',
        protocol: 'TCP',
        port: 8080,
        reason: 'ingress: no rule of default/web allows it',
      },
    )
  })
})
