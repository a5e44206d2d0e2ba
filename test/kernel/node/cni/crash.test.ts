import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { runProgram } from '../../../../src/host/index.ts'
import type { CniSandbox } from '../../../../src/node/cni/index.ts'
import { bridgeList, CniNode, cniSkipReason, debianPlugins } from '../../../helpers/cni-node.ts'
import { withNetns } from '../../../helpers/netns.ts'

const options = { skip: cniSkipReason(), timeout: 120_000 }
const program = resolve(import.meta.dirname, 'crashing-agent.program.ts')

interface Crash {
  readonly operation: 'ADD' | 'DEL'
  readonly point: 'before' | 'after'
  /** Counted from 1: bridge and portmap at ADD, portmap and bridge at DEL. */
  readonly call: number
}

async function crash(node: CniNode, sandbox: CniSandbox, { operation, point, call }: Crash): Promise<void> {
  const args = Object.entries({
    node: node.netns.name,
    config: node.configDir,
    cache: node.cacheDir,
    bin: debianPlugins,
    sandbox: JSON.stringify(sandbox),
    operation,
    point,
    call,
  }).map(([name, value]) => `--${name}=${value}`)
  const agent = await runProgram(process.execPath, [program, ...args], { background: true, stderr: 'inherit' })
  assert.equal((await agent.exited).signal, 'SIGKILL', 'the agent was to be killed')
}

for (const operation of ['ADD', 'DEL'] as const) {
  for (const [point, call] of [
    ['before', 1],
    ['after', 1],
    ['after', 2],
  ] as const) {
    test(
      `an agent killed ${point} plugin call ${call} of ${operation} leaves nothing after the next one's start`,
      options,
      (t) =>
        withNetns(async (lab) => {
          const node = await CniNode.create(t, lab)
          node.network('10-plt.conflist', bridgeList(node))
          const runtime = node.runtime()
          const alive = await node.sandbox('alive')
          await runtime.add(alive.sandbox)
          const before = await node.traces()
          const { sandbox, pod } = await node.sandbox('crash', {
            portMappings: [{ hostPort: 18080, containerPort: 80, protocol: 'tcp' }],
          })
          if (operation === 'DEL') await runtime.add(sandbox)
          await crash(node, sandbox, { operation, point, call })
          const { errors } = await node.runtime().garbage.collect([alive.sandbox])
          assert.deepEqual(errors, [])
          assert.deepEqual(await node.traces(), before)
          assert.doesNotMatch(await pod.exec('ip', '-brief', 'link'), /^eth0/m)
          // And the same pod can have its network again.
          assert.equal((await node.runtime().add(sandbox)).ips.length, 1)
          await node.runtime().del(sandbox)
          assert.deepEqual(await node.traces(), before)
        }),
    )

    test(
      `the pod of an agent killed ${point} plugin call ${call} of ${operation} can be deleted by the next one`,
      options,
      (t) =>
        withNetns(async (lab) => {
          const node = await CniNode.create(t, lab)
          node.network('10-plt.conflist', bridgeList(node))
          const before = await node.traces()
          const { sandbox } = await node.sandbox('crash')
          if (operation === 'DEL') await node.runtime().add(sandbox)
          await crash(node, sandbox, { operation, point, call })
          await node.runtime().del(sandbox)
          assert.deepEqual(await node.traces(), before)
        }),
    )
  }
}
