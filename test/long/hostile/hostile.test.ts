import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ApiClient, Informer, type InformerHandler, loadKubeconfig } from '../../../src/client/index.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { PlatnetServer, residentMiB } from '../../helpers/platnet-server.ts'
import { untilAsync } from '../../helpers/until.ts'
import { Canary } from './canary.ts'
import { connectionTrials } from './connections.ts'
import { type Lab, makeIdentities, must } from './lab.ts'
import { requestTrials } from './requests.ts'
import { rightsTrials } from './rights.ts'

/** The administrator waits no longer than that, whatever the others try; the time for which other programs had the processors does not count. */
const maxWaitMs = 1_000
/** After a trial: about what the shares allow together (docs/security.md). */
const maxResidentMiB = 2_000

/** Follows a resource of all tenants, as every agent does, and remembers which names it has heard. */
class Follower implements InformerHandler {
  readonly names = new Set<string>()

  onReplace(items: readonly { readonly metadata: { readonly name: string } }[]): void {
    for (const { metadata } of items) this.names.add(metadata.name)
  }
  onEvent(_type: string, { metadata }: { readonly metadata: { readonly name: string } }): void {
    this.names.add(metadata.name)
  }
  onProgress(): void {}
}

describe('three hostile identities delay no other client', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plt-hostile-'))
  const follower = new Follower()
  let server: PlatnetServer
  let client: ApiClient
  let informer: Informer
  let canary: Canary
  let lab: Lab

  before(async () => {
    server = new PlatnetServer(dataDir, await findFreePort(), {}, [
      '--components=api',
      '--dialect=kubernetes',
      '--max-store-bytes=256Mi',
    ])
    const access = await server.start()
    lab = await makeIdentities(access, server.pid, dataDir)
    client = new ApiClient(await loadKubeconfig(join(dataDir, 'admin.kubeconfig')))
    const collection = { resource: { group: '', version: 'v1', resource: 'endpoints' } }
    informer = new Informer({ client, collection, handler: follower, log: silentLogger })
    await informer.start({ signal: AbortSignal.timeout(10_000) })
    canary = new Canary(access, server.pid)
  })

  after(async () => {
    await canary?.stop()
    await informer?.stop()
    client?.close()
    for (const identity of [lab?.admin, lab?.outsider, lab?.tenant, lab?.node]) identity?.close()
    await server?.stop('SIGKILL')
    rmSync(dataDir, { recursive: true, force: true })
  })

  for (const { line, title, run } of [...rightsTrials, ...requestTrials, ...connectionTrials]) {
    it(`(line ${line}) ${title}`, async (t) => {
      await canary.take()
      await run(lab)
      const { slowestMs, slowestWithOthersMs, looks, failure } = await canary.take()
      const resident = residentMiB(server.pid)
      t.diagnostic(
        `slowest of ${looks} looks ${Math.round(slowestMs)} ms (${Math.round(slowestWithOthersMs)} ms with what others used); ` +
          `the server has ${Math.round(resident)} MiB`,
      )
      assert.equal(failure, undefined)
      assert.ok(slowestMs <= maxWaitMs, `the administrator waited ${Math.round(slowestMs)} ms`)
      assert.ok(resident <= maxResidentMiB, `the server has ${Math.round(resident)} MiB`)
      await assertFollowed(line, title)
    })
  }

  /** An agent still hears of others' objects. */
  async function assertFollowed(line: number, title: string): Promise<void> {
    const name = `marker-${line}-${[...title].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1e9, 7)}`
    await must(lab.admin.call('POST', '/api/v1/namespaces/other/endpoints', { metadata: { name } }))
    await untilAsync('the informer hears of an object', async () => follower.names.has(name), 2_000)
  }
})
