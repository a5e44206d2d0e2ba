import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runProgram } from '../../../src/host/index.ts'
import { startHollowCluster } from './hollow-kubelet.ts'
import { type ClientsServer, missingPrograms, programFile } from './programs.ts'

const chart = join(import.meta.dirname, 'chart')
const script = join(import.meta.dirname, 'helm-sdk/release.py')

describe("Helm's Go SDK, from another program", { skip: missingPrograms('helm-sdk') }, () => {
  const stack = new AsyncDisposableStack()
  let server: ClientsServer
  before(async () => {
    server = await startHollowCluster(stack, ['node-1', 'node-2'])
  })
  after(() => stack.disposeAsync())

  test('installs, tries on the server, upgrades, goes back by itself and on request, and uninstalls', async () => {
    const env = { KUBECONFIG: server.kubeconfig, HOME: server.folder, PATH: process.env['PATH'] ?? '' }
    const run = await runProgram(programFile('helm-sdk') ?? '', [script, chart, 'web'], { timeoutMs: 300_000, env })
    const steps = JSON.parse(run.stdout)
    assert.equal(steps.install, 'deployed')
    assert.deepEqual(steps.dry, [true, [[1, 'deployed']]])
    assert.match(steps.refused, /spec\.replicas: Invalid value/)
    assert.deepEqual(steps.history, [
      [1, 'superseded'],
      [2, 'superseded'],
      [3, 'failed'],
      [4, 'superseded'],
      [5, 'deployed'],
    ])
    assert.deepEqual(steps.values, { replicas: 2 })
    assert.deepEqual([steps.listed, steps.left], [['shop'], []])
    const { items } = (await server.admin.call('GET', '/apis/apps/v1/namespaces/web/deployments')).body
    assert.deepEqual(items, [])
  })
})
