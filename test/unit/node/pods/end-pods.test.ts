import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { endPods } from '../../../../src/node/pods/end-pods.ts'
import { PodFolders, type StoredPod } from '../../../../src/node/pods/pod-folders.ts'
import type { PodRuntime } from '../../../../src/node/pods/runtime.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const pod: StoredPod = {
  uid: 'u',
  namespace: 'default',
  name: 'web',
  hostNetwork: false,
  image: '',
  portMappings: [],
  sandbox: 'ready',
  ips: [],
  containers: { main: { attempt: 0, level: 0 } },
}

/** Ends the pod, whose container ignores SIGTERM. */
async function endStubborn(t: TestContext, stored: StoredPod, maxGraceMs: number) {
  const root = makeTemporaryFolder(t)
  const folders = new PodFolders(`${root}/pods`, `${root}/volumes`)
  await folders.write(stored)
  const signals: string[] = []
  let removed = 0
  const runtime: Pick<PodRuntime, 'signal' | 'state' | 'removeSandbox'> = {
    signal: async (_sandbox, _run, signal) => {
      signals.push(signal)
    },
    state: () =>
      signals.includes('SIGKILL')
        ? { kind: 'exited', exitCode: 137, startedAtMs: 0, finishedAtMs: 0 }
        : { kind: 'running', startedAtMs: 0 },
    removeSandbox: async () => {
      removed += 1
    },
  }
  const startedMs = performance.now()
  const { ended, failures } = await endPods(folders, () => runtime as PodRuntime, maxGraceMs)
  assert.deepEqual([ended, failures, signals, removed], [['default/web'], [], ['SIGTERM', 'SIGKILL'], 1])
  assert.deepEqual(folders.readAll(), { pods: [], unreadable: [] })
  return performance.now() - startedMs
}

describe('a pod that ignores SIGTERM and is ended without its agent', () => {
  test('is killed after its own grace period', { timeout: 30_000 }, (t) =>
    endStubborn(t, { ...pod, graceSeconds: 0 }, 60_000).then(() => {}),
  )

  test('is killed after the longest time that is given, whatever its grace period', { timeout: 30_000 }, async (t) => {
    assert.ok((await endStubborn(t, { ...pod, graceSeconds: 60 }, 100)) >= 100)
    assert.ok((await endStubborn(t, pod, 100)) >= 100, 'a record of an earlier version')
  })
})
