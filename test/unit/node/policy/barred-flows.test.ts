import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FlowEnds, Run } from '../../../../src/host/index.ts'
import type { Ip } from '../../../../src/model/ip.ts'
import { BarredFlows, type BarredFlowsParts } from '../../../../src/node/policy/barred-flows.ts'
import { ipOf } from '../../../helpers/addresses.ts'

const [client, server] = [ipOf('10.244.1.5'), ipOf('10.244.2.1')]

function flow(replySourcePort: number, protocol = 17, replySource: Ip = server): FlowEnds {
  return { source: client, replySource, replySourcePort, protocol }
}

function create(held: readonly string[] = [], socket?: BarredFlowsParts['socket']) {
  const inputs: string[] = []
  const run: Run = async (_file, _args, { input } = { timeoutMs: 0 }) => {
    inputs.push(...String(input).trimEnd().split('\n'))
    return { endedBy: 'exit', stdout: '', stderr: '', exitCode: 0, durationMs: 1, pid: 1 }
  }
  const membersOf = async () => held.map((element) => ({ element, packets: 0, bytes: 0 }))
  return { barred: new BarredFlows({ family: 'IPv4', run, socket, membersOf }), inputs }
}

describe('barred flows', () => {
  test('leave the kernel when they are allowed again, and only those', async () => {
    const { barred, inputs } = create()
    await barred.bar([flow(53), flow(80, 6)])
    assert.deepEqual(inputs.splice(0), [
      'add PLAT-NP-CUT4 10.244.2.1,17:53,10.244.1.5',
      'add PLAT-NP-CUT4 10.244.2.1,6:80,10.244.1.5',
    ])
    await barred.release(
      () =>
        ({ replySourcePort }) =>
          replySourcePort === 53,
    )
    assert.deepEqual(inputs.splice(0), ['del PLAT-NP-CUT4 10.244.2.1,17:53,10.244.1.5'])
    await barred.release(
      () =>
        ({ replySourcePort }) =>
          replySourcePort === 53,
    )
    assert.deepEqual(inputs, [])
  })

  test('are written by the socket, each once, and by ipset where the kernel refuses', async () => {
    const types: number[] = []
    let isDone = true
    const request = ({ type }: { readonly type: number }) => types.push(type) > 0 && isDone
    const { barred, inputs } = create([], { request })
    await barred.bar([flow(53), flow(53), flow(0, 47)])
    assert.deepEqual([types.splice(0), inputs], [[0x609, 0x609], []])
    isDone = false
    await barred.bar([flow(53), flow(0, 47)])
    assert.deepEqual(types, [0x609])
    assert.deepEqual(inputs, [
      'add PLAT-NP-CUT4 10.244.2.1,17:53,10.244.1.5',
      'add PLAT-NP-CUT4 10.244.2.1,47:0,10.244.1.5',
    ])
  })

  test('of an earlier process are learned from the kernel', async () => {
    const { barred, inputs } = create(['10.244.2.1,udp:53,10.244.1.5', '10.244.2.1,esp:0,10.244.1.5', 'nonsense'])
    await barred.release(() => () => true)
    assert.deepEqual(inputs, ['del PLAT-NP-CUT4 10.244.2.1,17:53,10.244.1.5'])
  })

  test('go with the pod that would send', async () => {
    const { barred, inputs } = create()
    const other = ipOf('10.244.2.2')
    await barred.bar([flow(53), flow(53, 17, other)])
    inputs.length = 0
    await barred.releaseServers(new Set([other, client]))
    assert.deepEqual(inputs, ['del PLAT-NP-CUT4 10.244.2.2,17:53,10.244.1.5'])
  })

  test('are none of ICMP, whose answers begin no connection', async () => {
    const { barred, inputs } = create()
    await barred.bar([flow(0, 1), flow(0, 58)])
    assert.deepEqual(inputs, [])
  })
})
