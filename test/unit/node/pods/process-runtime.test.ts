import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { PodFolders, ProcessRuntime } from '../../../../src/node/pods/index.ts'
import type { PodNetwork } from '../../../../src/node/pods/runtime.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const sandbox = { uid: 'u1', namespace: 'default', name: 'web-0', hostNetwork: false, portMappings: [], image: '' }

/** A runtime that writes down what it would do; `isAttached` is what its network remembers. */
function newRuntime(t: TestContext, isAttached: boolean): { runtime: ProcessRuntime; done: string[] } {
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
    isAttached: async () => isAttached,
    collect: async () => {},
  }
  const cgroups = { cpu: undefined, memory: undefined }
  const folders = new PodFolders(makeTemporaryFolder(t))
  return {
    runtime: new ProcessRuntime({ folders, network, cgroups, hostIps: [], namespaces, log: silentLogger }),
    done,
  }
}

test('a new pod gets its network without anything being undone first', async (t) => {
  const { runtime, done } = newRuntime(t, false)
  await runtime.makeSandbox(sandbox)
  assert.deepEqual(done, ['create', 'attach'])
})

test('what an interrupted attempt attached is undone before the pod gets its network', async (t) => {
  const { runtime, done } = newRuntime(t, true)
  await runtime.makeSandbox(sandbox)
  assert.deepEqual(done, ['detach', 'delete', 'create', 'attach'])
})
