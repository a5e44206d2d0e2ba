import assert from 'node:assert/strict'
import { mkdirSync, utimesSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { PodFolders, ProcessRuntime } from '../../../../src/node/pods/index.ts'
import type { PodNetwork } from '../../../../src/node/pods/runtime.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const sandbox = { uid: 'u1', namespace: 'default', name: 'web-0', hostNetwork: false, portMappings: [], image: '' }

/** Creates a runtime that records its calls; `isAttached` is the answer of its network. */
function newRuntime(
  t: TestContext,
  isAttached: boolean,
): { runtime: ProcessRuntime; done: string[]; folders: PodFolders } {
  const done: string[] = []
  const namespaces = {
    create: async () => void done.push('create'),
    delete: async () => void done.push('delete'),
  }
  const network: PodNetwork = {
    attach: async () => {
      done.push('attach')
      return []
    },
    detach: async () => void done.push('detach'),
    stallReasonOf: () => undefined,
    isAttached: async () => isAttached,
    collect: async () => {},
  }
  const cgroups = { cpu: undefined, memory: undefined, pids: undefined, cpuacct: undefined }
  const view = { shown: [], hidden: [] }
  const folders = new PodFolders(makeTemporaryFolder(t))
  return {
    runtime: new ProcessRuntime({ folders, network, cgroups, hostIps: () => [], view, namespaces, log: silentLogger }),
    done,
    folders,
  }
}

test('a new pod gets its network without an earlier removal', async (t) => {
  const { runtime, done } = newRuntime(t, false)
  await runtime.makeSandbox(sandbox)
  assert.deepEqual(done, ['create', 'attach'])
})

test('the network of an interrupted attempt is removed before the pod gets its network', async (t) => {
  const { runtime, done } = newRuntime(t, true)
  await runtime.makeSandbox(sandbox)
  assert.deepEqual(done, ['detach', 'delete', 'create', 'attach'])
})

const run = { container: 'main', attempt: 0 }

test('a run whose shim was killed together with an earlier agent starts again after a second', (t) => {
  const { runtime, folders } = newRuntime(t, false)
  const folder = folders.runFolder(sandbox.uid, run)
  mkdirSync(folder, { recursive: true })
  const begunMs = performance.timeOrigin - 500
  utimesSync(folder, begunMs / 1000, begunMs / 1000)
  assert.equal(runtime.state(sandbox, run, begunMs + 900).kind, 'starting')
  assert.equal(runtime.state(sandbox, run, begunMs + 1100).kind, 'none')
})

test('a shim of this agent has ten seconds to claim its run', (t) => {
  const { runtime, folders } = newRuntime(t, false)
  mkdirSync(folders.runFolder(sandbox.uid, run), { recursive: true })
  assert.equal(runtime.state(sandbox, run, Date.now() + 9000).kind, 'starting')
  assert.equal(runtime.state(sandbox, run, Date.now() + 11_000).kind, 'none')
})
