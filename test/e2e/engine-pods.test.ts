import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

test('without namespaces of our own, pods are containers of a real engine: addresses, each other, resolver, end', {
  skip: skipReason('iptables', 'podman', 'busybox', 'crun'),
}, async () => {
  const program = resolve(import.meta.dirname, 'engine-pods.program.ts')
  const { exitCode, stdout } = await runIsolated(program, [], { signal: AbortSignal.timeout(240_000), stdout: 'pipe' })
  assert.equal(exitCode, 0, 'the program failed; its output is above')
  const seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  assert.equal(new Set(seen.addresses).size, 2)
  for (const address of seen.addresses) assert.match(address, /^\d+\.\d+\.\d+\.\d+$/)
  assert.match(seen.inside, /^hello from server\nsearch default\.svc\.cluster\.local .*\nnameserver 10\.96\.0\.10\n/)
  assert.deepEqual([seen.running, seen.exitCode, seen.kept, seen.left, seen.results], [4, 3, 0, '', []])
})
