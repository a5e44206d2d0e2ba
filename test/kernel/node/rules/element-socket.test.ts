import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../../src/demo/isolate.ts'
import { skipReason } from '../../../helpers/netns.ts'

const seenSchema = z.object({
  bySocket: z.object({ programs: z.number(), elements: z.array(z.string()) }),
  headers: z.object({ bySocket: z.array(z.unknown()), byProgram: z.array(z.unknown()) }),
  afterRemoval: z.array(z.string()),
  line: z.object({ code: z.string(), text: z.string() }),
})

const ofIpv6 = ['PLAT-NP-A6 fd00::1', 'PLAT-NP-B6 fd00:1::/64', 'PLAT-NP-C6 fd00::1,udp:53']
const ofIpv4 = [
  'PLAT-NP-A4 10.0.0.1',
  'PLAT-NP-B4 10.0.0.0/24',
  'PLAT-NP-B4 10.1.0.1',
  'PLAT-NP-C4 10.0.0.1,sctp:9',
  'PLAT-NP-C4 10.0.0.1,tcp:80',
  'PLAT-NP-C4 10.0.0.1,udp:53',
]

test('the socket writes elements and lists sets without a program, and a program explains and repairs what the kernel refuses', {
  skip: skipReason('ipset', 'iptables', 'ip6tables', 'unshare', 'setpriv'),
  timeout: 60_000,
}, async () => {
  const program = path.join(import.meta.dirname, 'element-socket.program.ts')
  const { exitCode, stdout } = await runIsolated(program, [], { signal: AbortSignal.timeout(50_000), stdout: 'pipe' })
  assert.equal(exitCode, 0, stdout)
  const { bySocket, headers, afterRemoval, line } = seenSchema.parse(JSON.parse(stdout))
  assert.equal(bySocket.programs, 0)
  assert.deepEqual(bySocket.elements, [...ofIpv4, ...ofIpv6].sort())
  assert.equal(headers.byProgram.length, 7)
  assert.deepEqual(headers.bySocket, headers.byProgram)
  assert.deepEqual(afterRemoval, [...ofIpv4, ...ofIpv6, 'PLAT-NP-A4 10.0.0.3'].sort())
  assert.deepEqual(line, { code: 'set-refused', text: 'add PLAT-NP-A4 300.0.0.1' })
})
