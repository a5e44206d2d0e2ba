import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Capability, EngineClient } from '../../../../src/host/index.ts'
import { chooseRuntime, type RuntimeChoices } from '../../../../src/node/pods/choose-runtime.ts'
import type { PodRuntime } from '../../../../src/node/pods/runtime.ts'
import { silentLogger } from '../../../../src/observe/index.ts'

const namespaces = { engineSocket: undefined } as PodRuntime
const engine = { engineSocket: '/run/test/engine.sock' } as PodRuntime
const works: readonly Capability[] = [{ name: 'veth', problem: undefined }]
const fails: readonly Capability[] = [...works, { name: 'bind-mount', problem: 'mount: permission denied' }]

function choose(kind: RuntimeChoices['kind'], found: readonly Capability[]) {
  return chooseRuntime({
    kind,
    engineSocket: '/run/test/engine.sock',
    namespaces: () => namespaces,
    engine: () => engine,
    probe: async () => found,
    log: silentLogger,
  })
}

describe('the runtime of a node', () => {
  test('is namespaces if every probe of the machine succeeds', async () => {
    const { runtime, description, capabilities } = await choose('auto', works)
    assert.deepEqual([runtime, description, capabilities], [namespaces, 'namespaces', works])
  })

  test("is an engine's bridge if a probe fails, and the log names the probe", async () => {
    const { runtime, description } = await choose('auto', fails)
    assert.equal(runtime, engine)
    assert.equal(description, 'container-bridge through /run/test/engine.sock (bind-mount not possible)')
  })

  test('is the requested one', async () => {
    assert.equal((await choose('host-gw', fails)).runtime, namespaces)
    assert.equal((await choose('vxlan', fails)).runtime, namespaces)
    assert.equal((await choose('container-bridge', works)).runtime, engine)
  })
})

test('an engine that does not answer is an error with the path of its socket', async () => {
  const client = new EngineClient('/run/platnet-no-such-engine.sock')
  await assert.rejects(client.call({ method: 'GET', path: '/_ping' }), {
    code: 'engine-away',
    object: '/run/platnet-no-such-engine.sock',
  })
})
