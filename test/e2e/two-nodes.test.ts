import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

describe('pods of two nodes', {
  skip: skipReason('iptables', 'nft', 'bridge', 'unshare', '/usr/lib/cni/bridge'),
}, () => {
  for (const mode of ['host-gw', 'vxlan']) {
    test(`reach each other by their own addresses (${mode}); outside they have their node's`, async () => {
      const program = resolve(import.meta.dirname, 'two-nodes.program.ts')
      const { exitCode, stdout } = await runIsolated(program, [mode], {
        signal: AbortSignal.timeout(240_000),
        stdout: 'pipe',
      })
      assert.equal(exitCode, 0, 'the program failed; its output is above')
      const seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
      assert.equal(seen.fromOtherNode, 'its own')
      assert.equal(seen.fromOutside, '192.0.2.12')
      assert.equal(/^plt-vxlan /m.test(seen.links), mode === 'vxlan')
      const route =
        mode === 'vxlan'
          ? /^10\.244\.\d\.0\/24 via 10\.244\.\d\.0 dev plt-vxlan onlink/
          : /^10\.244\.\d\.0\/24 via 192\.0\.2\.12 dev eth0/
      assert.match(seen.routes, route)
      for (const answer of seen.explained) {
        assert.match(answer, /egress, on node node-2: no policy isolates pod default\/asker-8080/)
        assert.match(answer, /ingress, on node node-1: denied: .*\n +default\/closed has no ingress rules/)
      }
      const removed = mode === 'vxlan' ? 'the VXLAN device and its routes' : '1 routes to the pods of other nodes'
      assert.ok(seen.cleaned.includes(`removed ${removed}\nremoved the masquerading of pods`), seen.cleaned)
      assert.equal(seen.left, '')
    })
  }
})
