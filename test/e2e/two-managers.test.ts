import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { AdminConnection } from '../helpers/admin-connection.ts'
import { findFreePort } from '../helpers/free-port.ts'
import { httpGet } from '../helpers/http-get.ts'
import { type AdminAccess, PlatnetServer } from '../helpers/platnet-server.ts'
import { untilAsync } from '../helpers/until.ts'

const replicas = 400
const core = '/api/v1/namespaces/default'

/** A controller manager as a process of its own, beside the API server that wrote its kubeconfig. */
interface Manager {
  readonly process: PlatnetServer
  readonly port: number
}

async function createManager(dataDir: string, apiPort: number, lease: string): Promise<Manager> {
  const port = await findFreePort()
  const flags = [
    '--components=controllers',
    '--dialect=kubernetes',
    `--controller-manager-port=${port}`,
    `--leader-elect-lease-duration=${lease}`,
  ]
  return { process: new PlatnetServer(dataDir, apiPort, {}, flags), port }
}

describe('two controller managers on one API server, one of which is killed at work', () => {
  let api: PlatnetServer
  let access: AdminAccess
  let admin: AdminConnection
  const managers: Manager[] = []
  const dataDir = mkdtempSync(join(tmpdir(), 'plt-test-'))
  let apiPort: number

  before(async () => {
    apiPort = await findFreePort()
    api = new PlatnetServer(dataDir, apiPort, {}, ['--components=api', '--dialect=kubernetes'])
    access = await api.start()
    admin = new AdminConnection(access, 4)
    for (let index = 0; index < 2; index++) managers.push(await createManager(dataDir, apiPort, '6s'))
    await Promise.all(managers.map(({ process }) => process.start()))
  })
  after(async () => {
    for (const { process } of managers) await process.stop('SIGKILL')
    admin?.close()
    await api.stop('SIGKILL')
    rmSync(dataDir, { recursive: true, force: true })
  })

  const leads = async ({ port }: Manager): Promise<boolean> => {
    const { body } = await httpGet({ host: '127.0.0.1', port, path: '/metrics' }).catch(() => ({ body: '' }))
    return /^leader_election_master_status\{[^}]*kube-controller-manager[^}]*\} 1$/m.test(body)
  }
  const findLeader = async (): Promise<Manager | undefined> => {
    const leading = await Promise.all(managers.map(leads))
    assert.ok(leading.filter(Boolean).length < 2, 'two lead at once')
    return managers[leading.indexOf(true)]
  }

  test('the other one finishes what was begun, and nothing is done twice', async () => {
    await untilAsync('one leads', async () => (await findLeader()) !== undefined, 60_000)
    const leader = await findLeader()
    assert.ok(leader)
    const watch = await admin.open('GET', `${core}/pods?watch=true&resourceVersion=0`)
    const created = new Set<string>()
    let killed: Promise<number | null> | undefined
    const watching = (async () => {
      for await (const line of createInterface({ input: watch })) {
        const { type, object } = JSON.parse(line)
        if (type === 'ADDED') created.add(object.metadata.uid)
        if (created.size >= replicas / 8) killed ??= leader.process.stop('SIGKILL')
      }
    })()
    const labels = { app: 'web' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'main' }] } }
    const spec = { replicas, selector: { matchLabels: labels }, template }
    const { code } = await admin.call('POST', '/apis/apps/v1/namespaces/default/deployments', {
      metadata: { name: 'web' },
      spec,
    })
    assert.equal(code, 201)
    await untilAsync('the leader is killed', async () => killed !== undefined, 60_000)
    await killed
    await untilAsync(
      'the other one leads, and has made the rest',
      async () => {
        const { body } = await admin.call('GET', '/apis/apps/v1/namespaces/default/deployments/web')
        return (await findLeader()) !== undefined && body.status?.updatedReplicas === replicas
      },
      90_000,
    )
    assert.notEqual(await findLeader(), leader)
    const { body } = await admin.call('GET', `${core}/pods`)
    assert.equal(body.items.length, replicas)
    await untilAsync('the watch has seen them all', async () => created.size >= replicas, 30_000)
    assert.equal(created.size, replicas, 'pods that were ever created')
    const sets = (await admin.call('GET', '/apis/apps/v1/namespaces/default/replicasets')).body.items
    assert.equal(sets.length, 1)
    watch.destroy()
    await Promise.race([watching, once(watch, 'close')]).catch(() => {})
  })

  test('one that was killed does not wait for its own lease when it starts again', async () => {
    for (const { process } of managers) await process.stop('SIGTERM')
    const manager = await createManager(dataDir, apiPort, '1h')
    managers.push(manager)
    for (let life = 0; life < 2; life++) {
      await manager.process.start()
      await untilAsync('it leads', () => leads(manager), 60_000)
      await manager.process.stop('SIGKILL')
    }
  })
})
