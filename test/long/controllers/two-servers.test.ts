import assert from 'node:assert/strict'
import { it } from 'node:test'
import { EtcdCluster, etcdLack } from '../../helpers/etcd.ts'
import { ServerGroup } from '../../helpers/etcd-fault-lab.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { untilAsync } from '../../helpers/until.ts'

const deployments = '/apis/apps/v1/namespaces/default/deployments'
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'

function deployment(replicas: number) {
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'web', image: 'web' }] },
  }
  const spec = { replicas, selector: { matchLabels: { app: 'web' } }, template }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec }
}

it('Two servers over one etcd run each controller once; the other one goes on when the leader is killed.', {
  skip: etcdLack ?? false,
}, async (t) => {
  await using etcd = await EtcdCluster.start()
  const ports = async () => [
    `--controller-manager-port=${await findFreePort()}`,
    `--scheduler-port=${await findFreePort()}`,
    '--leader-elect-lease-duration=5s',
  ]
  const group = await ServerGroup.start(makeTemporaryFolder(t), 2, etcd.servers, ports)
  t.after(() => group.stop())
  const ask = async (server: number, path: string, change?: { method: string; body: object; type?: string }) => {
    const headers = { 'content-type': change?.type ?? 'application/json' }
    const sent = change === undefined ? {} : { method: change.method, body: JSON.stringify(change.body), headers }
    const { status, body } = await httpGet({ ...group.access(server), path, ...sent })
    return { status, body: JSON.parse(body) }
  }
  /** The server whose process holds the lease; -1 where none of the two does. */
  const leaderOf = async (server: number, name: string) => {
    const { body } = await ask(server, `${leases}/${name}`)
    const [, pid] = /_(\d+)_[0-9a-f-]{36}$/.exec(body.spec?.holderIdentity ?? '') ?? []
    return [0, 1].findIndex((index) => group.pid(index) === Number(pid))
  }
  const podsAt = async (server: number) => {
    const { body } = await ask(server, '/api/v1/namespaces/default/pods?labelSelector=app=web')
    return body.items.length as number
  }
  await untilAsync(
    'a controller manager leads',
    async () => (await leaderOf(0, 'kube-controller-manager')) !== -1,
    15_000,
  )
  const leader = await leaderOf(0, 'kube-controller-manager')
  const other = 1 - leader
  assert.equal(await leaderOf(1, 'kube-controller-manager'), leader, 'both servers tell the same')
  assert.equal((await ask(other, deployments, { method: 'POST', body: deployment(3) })).status, 201)
  await untilAsync('the pods of the Deployment are there', async () => (await podsAt(other)) === 3, 15_000)
  assert.equal(await podsAt(leader), 3)
  await group.kill(leader)
  const type = 'application/merge-patch+json'
  const scaled = await ask(other, `${deployments}/web`, { method: 'PATCH', body: { spec: { replicas: 5 } }, type })
  assert.equal(scaled.status, 200)
  await untilAsync('the other controller manager goes on', async () => (await podsAt(other)) === 5, 20_000)
  assert.equal(await leaderOf(other, 'kube-controller-manager'), other)
  await untilAsync('the other scheduler leads', async () => (await leaderOf(other, 'kube-scheduler')) === other, 15_000)
  const { body } = await ask(other, '/apis/apps/v1/namespaces/default/replicasets')
  assert.equal(body.items.length, 1, 'one ReplicaSet, however many servers there are')
})
