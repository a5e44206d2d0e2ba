import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { runProgram } from '../../../../src/host/index.ts'
import { PodFolders, ProcessRuntime } from '../../../../src/node/pods/index.ts'
import type { PodNetwork } from '../../../../src/node/pods/runtime.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const sandbox = { uid: 'u1', namespace: 'default', name: 'web-0', hostNetwork: false, portMappings: [], image: '' }

/** A runtime that writes down what it would do; `isAttached` is what its network remembers. */
function newRuntime(t: TestContext, isAttached: boolean): { runtime: ProcessRuntime; done: string[] } {
  const done: string[] = []
  const run: typeof runProgram = async (file, args) => {
    done.push(`${file} ${args.join(' ')}`)
    return { stdout: '', stderr: '', exitCode: 0, durationMs: 0, pid: undefined }
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
  return { runtime: new ProcessRuntime({ folders, network, cgroups, hostIps: [], run, log: silentLogger }), done }
}

test('a new pod gets its network without anything being undone first', async (t) => {
  const { runtime, done } = newRuntime(t, false)
  await runtime.makeSandbox(sandbox)
  assert.deepEqual(done, ['ip -batch -', 'attach'])
})

test('what an interrupted attempt attached is undone before the pod gets its network', async (t) => {
  const { runtime, done } = newRuntime(t, true)
  await runtime.makeSandbox(sandbox)
  assert.deepEqual(done, ['detach', 'ip -batch -', 'attach'])
})
