import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ApiClient } from '../../../../src/client/index.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { PodFolders } from '../../../../src/node/pods/pod-folders.ts'
import { PodsPlane } from '../../../../src/node/pods/pods-plane.ts'
import { createSharedInformers } from '../../../../src/node/state/index.ts'
import { createMetrics } from '../../../../src/observe/index.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

test('a node with a kubelet gets no worker: nothing is probed, read, removed or requested', async (context) => {
  const folders = new PodFolders(makeTemporaryFolder(context))
  mkdirSync(join(folders.root, 'unreadable'))
  const { log, lines } = createRecordingLogger()
  const asked: string[] = []
  const client = {
    get: async ({ name }: { name: string }) => {
      asked.push(name)
      return { metadata: { name }, status: { nodeInfo: { kubeletVersion: 'v1.33.1' } } }
    },
    report: () => {},
    forget: () => {},
  } as unknown as ApiClient
  const dialect = createDialect('kubernetes')
  const { namespaces } = createSharedInformers({ client, dialect, log })
  const plane = new PodsPlane({
    client,
    namespaces,
    dialect,
    nodeName: 'node-1',
    hostIps: () => [ipOf('192.0.2.1')],
    folders,
    chooseRuntime: () => Promise.reject(new Error('nothing is to be tried')),
    traffic: { isOut: () => true },
    clusterDns: { nameservers: [ipOf('10.96.0.10')], domain: 'cluster.local' },
    isOn: true,
    apiService: () => undefined,
    rootFilesystems: undefined,
    metrics: createMetrics(),
    log,
  })
  const scope = { signal: AbortSignal.timeout(30_000) }
  await plane.start(scope)
  assert.deepEqual(asked, ['node-1'])
  assert.deepEqual([plane.health().level, plane.health().message], ['ok', 'a kubelet runs the pods of this node'])
  assert.match(lines.join('\n'), /this node has a kubelet/)
  assert.deepEqual(folders.readAll().unreadable, ['unreadable'])
  await plane.stop(scope)
})
