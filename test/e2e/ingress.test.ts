import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

for (const driver of ['haproxy', 'in-process']) {
  describe(`Ingresses that an agent serves by ${driver}`, {
    skip: skipReason('iptables', 'unshare', 'curl', ...(driver === 'haproxy' ? ['haproxy'] : [])),
  }, () => {
    // biome-ignore lint/suspicious/noExplicitAny: what the program saw, each part judged below
    let seen: any

    before(async () => {
      const program = resolve(import.meta.dirname, 'ingress.program.ts')
      const signal = AbortSignal.timeout(120_000)
      const { exitCode, stdout } = await runIsolated(program, [driver], { signal, stdout: 'pipe' })
      assert.equal(exitCode, 0, 'the program failed; its output is above')
      seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
    })

    test('curl reaches two hosts by name, one over TLS and HTTP/2, and gets 404 for a third', () => {
      assert.equal(seen.plain, 'one 200 1.1')
      assert.equal(seen.secure, 'one 200 2')
      assert.match(seen.unknown, / 404 1\.1$/)
    })

    test('the status of the Ingress names the node, and is removed with its class', () => {
      assert.equal(seen.status, '[{"ip":"192.0.2.1"}]')
      assert.match(seen.afterwards, / 404 1\.1$/)
    })

    for (const change of ['rotation', 'rollout'] as const) {
      test(`no request fails under load while ${change === 'rotation' ? 'the certificate' : 'the endpoint'} changes`, () => {
        assert.deepEqual(seen[change].failures, [])
        assert.ok(seen[change].answered.one > 20, JSON.stringify(seen[change].answered))
      })
    }

    test('no request fails under load while the agent is killed, is away and begins again', {
      skip: driver === 'haproxy' ? false : 'the proxy in the agent ends with it',
    }, () => {
      assert.deepEqual(seen.killed.failures, [])
      assert.ok(seen.killed.answered.two > 20, JSON.stringify(seen.killed.answered))
    })

    test('status, explain and metrics show what is served', () => {
      assert.match(
        seen.shown,
        new RegExp(`1 Ingresses \\(0 of other classes\\), 2 hosts, 1 backends, served by ${driver}`),
      )
      assert.match(seen.shown, /certificate default\/secure-tls for secure\.example\.com: 0 days left|1 days left/)
      assert.match(seen.explained, /default\/web/)
      const counted = seen.metrics.find((line: string) =>
        line.startsWith('platnet_ingress_requests_total{namespace="default",ingress="web",host="exact",code="200"}'),
      )
      assert.ok(Number(counted?.split(' ').at(-1)) > 40, seen.metrics.join('\n'))
    })
  })
}
