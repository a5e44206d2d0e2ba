import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { untilAsync } from '../../helpers/until.ts'
import { startHollowCluster } from './hollow-kubelet.ts'
import { type ClientsServer, kubectl, sourceFile } from './programs.ts'

interface Installation {
  readonly name: string
  readonly namespace: string
  readonly flags: readonly string[]
  readonly workloads: number
}

/** What the projects publish to be installed by kubectl. */
const installations: readonly Installation[] = [
  { name: 'argocd', namespace: 'argocd', flags: ['-f', 'manifests/ha/install.yaml'], workloads: 8 },
  { name: 'prometheus-operator', namespace: 'default', flags: ['-f', 'bundle.yaml'], workloads: 1 },
  { name: 'kube-state-metrics', namespace: 'kube-system', flags: ['-k', 'examples/standard'], workloads: 1 },
]

const isMissing = installations.some(({ name }) => !existsSync(sourceFile(name, '.')))

describe('manifests of other projects', {
  skip: isMissing && 'no sources: sh test/long/clients/build.sh manifests',
}, () => {
  const stack = new AsyncDisposableStack()
  let server: ClientsServer
  before(async () => {
    const nodes = ['node-1', 'node-2', 'node-3']
    server = await startHollowCluster(stack, nodes)
    for (const node of nodes) await kubectl(server, ['label', 'node', node, 'kubernetes.io/os=linux'])
    await kubectl(server, ['create', 'namespace', 'argocd'])
  })
  after(() => stack.disposeAsync())

  for (const { name, namespace, flags, workloads } of installations) {
    const [flag = '', path = ''] = flags
    const file = [flag, sourceFile(name, path), '--namespace', namespace]
    const run = (...args: readonly string[]) => kubectl(server, args)
    const unready = async () => {
      const list = JSON.parse(await run('get', 'deployments,statefulsets', '--namespace', namespace, '-o', 'json'))
      assert.equal(list.items.length, workloads)
      return list.items.filter(
        ({ spec, status }: { spec: { replicas: number }; status: { readyReplicas?: number } }) =>
          status.readyReplicas !== spec.replicas,
      )
    }

    test(`${name} is applied, runs, is applied again without a change, and deleted`, async () => {
      const applied = await run('apply', '--server-side', ...file)
      assert.match(applied, /serverside-applied/)
      await untilAsync('its pods are ready', async () => (await unready()).length === 0, 120_000)
      const revisions = async () => {
        const { items } = JSON.parse(await run('get', ...file, '-o', 'json'))
        // The status of a workload goes on changing; what is applied does not.
        return items.map(({ metadata }: { metadata: { uid: string; generation?: number } }) => [
          metadata.uid,
          metadata.generation,
        ])
      }
      const before = await revisions()
      await run('apply', '--server-side', ...file)
      assert.deepEqual(await revisions(), before)
      const differences = await run('diff', '--server-side', ...file)
      assert.equal(differences, '')
      await run('delete', ...file, '--timeout=110s')
      // The garbage collector follows kubectl.
      const pods = () => run('get', 'pods', '--namespace', namespace, '-o', 'name')
      await untilAsync('its pods are gone', async () => (await pods()) === '', 60_000)
    })
  }
})
