import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

test('where namespaces do not work, which is found by trials and reported, pods are containers of a real engine: addresses, names, logs, end', {
  skip: skipReason('iptables', 'podman', 'busybox', 'crun'),
}, async () => {
  const program = resolve(import.meta.dirname, 'engine-pods.program.ts')
  const { exitCode, stdout } = await runIsolated(program, [], { signal: AbortSignal.timeout(240_000), stdout: 'pipe' })
  assert.equal(exitCode, 0, 'the program failed; its output is above')
  const seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  assert.equal(new Set(seen.addresses).size, 2)
  for (const address of seen.addresses) assert.match(address, /^\d+\.\d+\.\d+\.\d+$/)
  assert.match(
    seen.inside,
    /^hello from server\nhello from server\nsearch default\.svc\.cluster\.local .*\nnameserver 10\.96\.0\.10\n/,
  )
  const { log, chosen, status, metrics } = seen.fallback
  const failing = ['network-namespace', 'process-namespace', 'bind-mount', 'veth', 'bridge-address']
  assert.deepEqual([log, chosen], [failing.length, 1])
  assert.match(status, /pods are on the bridge of an engine/, 'no routes, no network list')
  assert.match(status, /container-bridge through \/run\/podman\/podman\.sock \(network-namespace, /)
  const expected = [...failing.map((name) => [name, 0]), ['perl', 1]].map(
    ([name, value]) => `platnet_pod_capability{name="${name}"} ${value}`,
  )
  assert.deepEqual(metrics.toSorted(), expected.toSorted())
  assert.deepEqual(seen.logs, ['to-output\nto-error\n', 'to-output\nto-error\n'])
  assert.equal(seen.gone, 'farewell\n', 'it has ended, and its container is gone')
  assert.deepEqual([seen.running, seen.exitCode, seen.kept, seen.left, seen.results], [4, 3, 0, '', []])
})
