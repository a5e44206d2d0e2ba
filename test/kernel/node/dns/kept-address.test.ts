import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { runIsolated } from '../../../../src/demo/isolate.ts'
import { skipReason } from '../../../helpers/netns.ts'

test('the address of the cluster DNS comes back when another program deletes, flushes or stops its link', {
  skip: skipReason('ip', 'unshare'),
}, async () => {
  const program = path.join(import.meta.dirname, 'kept-address.program.ts')
  const signal = AbortSignal.timeout(90_000)
  const { exitCode, stdout } = await runIsolated(program, [], { signal, stdout: 'pipe' })
  assert.equal(exitCode, 0, stdout)
  const seen = JSON.parse(stdout)
  const served = { link: 'plt-dns', isAnswered: true }
  // A link that was deleted is made again; kernels without dummy links have the address on lo.
  const deleted = seen.after['link delete dev plt-dns'].kept
  assert.ok(['plt-dns', 'lo'].includes(deleted.link), stdout)
  assert.deepEqual(seen, {
    start: served,
    after: {
      'address flush dev plt-dns': { kept: served },
      'link set dev plt-dns down': { kept: served },
      'link delete dev plt-dns': { kept: { ...served, link: deleted.link } },
    },
    stopped: { isAnswered: false },
  })
})
