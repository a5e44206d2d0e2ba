import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { findFreePort } from '../../helpers/free-port.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { readAdminAccess } from '../../helpers/platnet-server.ts'
import { untilAsync } from '../../helpers/until.ts'
import { HollowKubelet } from './hollow-kubelet.ts'
import { ClientProgram, type ClientsServer, missingPrograms, startServer } from './programs.ts'

interface Item {
  readonly spec: { readonly nodeName?: string }
  readonly endpoints?: readonly unknown[]
}

const deadlineMs = 90_000
const namespace = 'shop'

/** The controllers of kube-controller-manager that wait for kinds that this server does not serve (docs/differences.md). */
const switchedOff = ['resourceclaim', 'validatingadmissionpolicy-status', 'legacy-serviceaccount-token-cleaner'].map(
  (name) => `-${name}-controller`,
)
const unservedPlugins = ['DynamicResources']

/** What these programs also say beside kube-apiserver: a lost race, which they repeat, and a remark about a flag. */
const ordinary = [
  /the object has been modified/,
  /podCIDRs?: Forbidden: node updates may not change/,
  /Setting GA feature gate/,
  /StorageError: invalid object/,
]

const labels = { app: 'web' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'web:1' }] } }
const once = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'job:1' }] } }
const objects: readonly (readonly [string, object])[] = [
  [
    `/apis/apps/v1/namespaces/${namespace}/deployments`,
    { metadata: { name: 'web' }, spec: { replicas: 4, selector: { matchLabels: labels }, template } },
  ],
  [
    `/api/v1/namespaces/${namespace}/services`,
    { metadata: { name: 'web' }, spec: { selector: labels, ports: [{ port: 80 }] } },
  ],
  [
    `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
    { metadata: { name: 'web' }, spec: { minAvailable: 3, selector: { matchLabels: labels } } },
  ],
  [
    `/apis/batch/v1/namespaces/${namespace}/jobs`,
    { metadata: { name: 'once' }, spec: { ttlSecondsAfterFinished: 1, template: once } },
  ],
  [
    `/api/v1/namespaces/${namespace}/secrets`,
    {
      metadata: { name: 'token', annotations: { 'kubernetes.io/service-account.name': 'default' } },
      type: 'kubernetes.io/service-account-token',
    },
  ],
]

describe("Kubernetes' own controllers and scheduler on this server", {
  skip: missingPrograms('kube-controller-manager', 'kube-scheduler'),
}, () => {
  const stack = new AsyncDisposableStack()
  let server: ClientsServer
  let kubelet: HollowKubelet
  let manager: ClientProgram
  let scheduler: ClientProgram
  const ports = { manager: 0, scheduler: 0 }

  const get = async (path: string) => (await server.admin.call('GET', path)).body
  const listOf = async (path: string) => (await get(path)).items as readonly Item[]

  function startManager(): ClientProgram {
    const config = server.dataFile('controllers.kubeconfig')
    const [ca, key] = [server.dataFile('pki/ca.crt'), server.dataFile('pki/ca.key')]
    const args = [
      ...[`--kubeconfig=${config}`, `--authentication-kubeconfig=${config}`, `--authorization-kubeconfig=${config}`],
      ...['--bind-address=127.0.0.1', `--secure-port=${ports.manager}`, `--cert-dir=${join(server.folder, 'manager')}`],
      ...[`--root-ca-file=${ca}`, `--cluster-signing-cert-file=${ca}`, `--cluster-signing-key-file=${key}`],
      `--service-account-private-key-file=${server.dataFile('pki/service-account.key')}`,
      ...['--use-service-account-credentials=true', '--allocate-node-cidrs=true', '--cluster-cidr=10.244.0.0/16'],
      ...['--node-monitor-grace-period=10s', '--node-monitor-period=2s', `--controllers=*,${switchedOff.join(',')}`],
    ]
    return new ClientProgram('kube-controller-manager', args, server)
  }

  function startScheduler(): ClientProgram {
    const kubeconfig = server.dataFile('scheduler.kubeconfig')
    const disabled = unservedPlugins.map((name) => ({ name }))
    const configuration = {
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      clientConnection: { kubeconfig },
      profiles: [{ schedulerName: 'default-scheduler', plugins: { multiPoint: { disabled } } }],
    }
    const file = join(server.folder, 'scheduler.json')
    writeFileSync(file, JSON.stringify(configuration))
    const args = [
      ...[`--config=${file}`, `--authentication-kubeconfig=${kubeconfig}`, `--authorization-kubeconfig=${kubeconfig}`],
      ...[
        '--bind-address=127.0.0.1',
        `--secure-port=${ports.scheduler}`,
        `--cert-dir=${join(server.folder, 'scheduler')}`,
      ],
      '--feature-gates=DynamicResourceAllocation=false',
    ]
    return new ClientProgram('kube-scheduler', args, server)
  }

  before(async () => {
    server = stack.use(await startServer('api', ['--sweep-namespaces=false']))
    ports.manager = await findFreePort()
    ports.scheduler = await findFreePort()
    manager = stack.use(startManager())
    scheduler = stack.use(startScheduler())
    kubelet = stack.use(new HollowKubelet(server.admin, ['node-1', 'node-2']))
    await kubelet.start()
    await server.admin.call('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    // The token controller deletes a Secret whose account is not there.
    const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
    await untilAsync(
      'the account is there',
      async () => (await server.admin.call('GET', account)).code === 200,
      deadlineMs,
    )
    for (const [path, body] of objects) assert.equal((await server.admin.call('POST', path, body)).code, 201, path)
  })
  after(() => stack.disposeAsync())

  test('both lead, and know the clients of their own ports by the ConfigMap of this server', async () => {
    for (const name of ['kube-controller-manager', 'kube-scheduler']) {
      const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/${name}`
      await untilAsync(`${name} leads`, async () => Boolean((await get(lease)).spec?.holderIdentity), deadlineMs)
    }
    const page = { host: '127.0.0.1', path: '/metrics', ca: server.access.ca, rejectUnauthorized: false }
    const controllers = await readAdminAccess(server.dataFile('controllers.kubeconfig'))
    for (const port of [ports.manager, ports.scheduler]) {
      const codes = [server.access, controllers, undefined].map(async (client) => {
        const identity = client && { cert: client.cert, key: client.key }
        return (await httpGet({ ...page, port, ...identity })).status
      })
      // No user is bound to a role for metrics: the administrator may all, the controllers' user and one without a name may not.
      assert.deepEqual(await Promise.all(codes), [200, 403, 403])
    }
  })

  test('pods run on both nodes, their Service has endpoints, the budget counts them', async () => {
    const pods = `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3Dweb&fieldSelector=status.phase%3DRunning`
    await untilAsync('four pods run', async () => (await listOf(pods)).length === 4, deadlineMs)
    const nodes = new Set((await listOf(pods)).map(({ spec }) => spec.nodeName))
    assert.deepEqual([...nodes].toSorted(), ['node-1', 'node-2'])
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`
    const endpoints = async () => (await listOf(slices)).flatMap((slice) => slice.endpoints ?? []).length
    await untilAsync('the slice has four endpoints', async () => (await endpoints()) === 4, deadlineMs)
    const budget = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/web`
    await untilAsync('one may go', async () => (await get(budget)).status.disruptionsAllowed === 1, deadlineMs)
    for (const name of ['node-1', 'node-2'])
      assert.match((await get(`/api/v1/nodes/${name}`)).spec.podCIDR, /^10\.244\./)
  })

  test('a Job that is over goes after its time', async () => {
    const job = `/apis/batch/v1/namespaces/${namespace}/jobs/once`
    await untilAsync('the Job is gone', async () => (await server.admin.call('GET', job)).code === 404, deadlineMs)
  })

  test('the token that the token controller writes into a Secret is the account', async () => {
    const secret = `/api/v1/namespaces/${namespace}/secrets/token`
    await untilAsync('the token is there', async () => (await get(secret)).data?.token !== undefined, deadlineMs)
    const { data } = await get(secret)
    const spec = { token: Buffer.from(data.token, 'base64').toString() }
    const review = await server.admin.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec })
    assert.equal(review.body.status.user?.username, `system:serviceaccount:${namespace}:default`)
  })

  test('a StatefulSet has claims that its controller makes, the binder and the scheduler bind, and pods protect', async () => {
    const post = async (path: string, body: object) =>
      assert.equal((await server.admin.call('POST', path, body)).code, 201, path)
    const [claims, sets] = [
      `/api/v1/namespaces/${namespace}/persistentvolumeclaims`,
      `/apis/apps/v1/namespaces/${namespace}/statefulsets`,
    ]
    const storageClassName = 'local'
    await post('/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name: storageClassName },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
    })
    const accessModes = ['ReadWriteOnce']
    for (const name of ['disk-0', 'disk-1'])
      await post('/api/v1/persistentvolumes', {
        metadata: { name },
        spec: { accessModes, storageClassName, capacity: { storage: '1Gi' }, hostPath: { path: `/disks/${name}` } },
      })
    const claim = { accessModes, storageClassName, resources: { requests: { storage: '1Gi' } } }
    const spec = {
      replicas: 2,
      serviceName: 'db',
      selector: { matchLabels: { app: 'db' } },
      template: { ...template, metadata: { labels: { app: 'db' } } },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
    }
    await post(sets, { metadata: { name: 'db' }, spec })
    const phaseOf = async (path: string) => (await get(path)).status?.phase
    for (const name of ['data-db-0', 'data-db-1'])
      await untilAsync(`${name} is bound`, async () => (await phaseOf(`${claims}/${name}`)) === 'Bound', deadlineMs)
    await untilAsync(
      'both pods are ready',
      async () => (await get(`${sets}/db`)).status?.readyReplicas === 2,
      deadlineMs,
    )
    const { volumeName } = (await get(`${claims}/data-db-1`)).spec
    await server.admin.call('DELETE', `${claims}/data-db-1`)
    assert.ok((await get(`${claims}/data-db-1`)).metadata.deletionTimestamp, 'a pod uses it')
    await server.admin.call('DELETE', `${sets}/db`)
    const isGone = async () => (await server.admin.call('GET', `${claims}/data-db-1`)).code === 404
    await untilAsync('the claim is gone', isGone, deadlineMs)
    const volume = `/api/v1/persistentvolumes/${volumeName}`
    await untilAsync('its volume is released', async () => (await phaseOf(volume)) === 'Released', deadlineMs)
    assert.equal(await phaseOf(`${claims}/data-db-0`), 'Bound')
  })

  test('a deleted Deployment takes its ReplicaSet and pods with it', async () => {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/web`
    assert.equal((await server.admin.call('DELETE', path)).code, 200)
    const sets = `/apis/apps/v1/namespaces/${namespace}/replicasets`
    const pods = `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3Dweb`
    const left = async () => (await listOf(sets)).length + (await listOf(pods)).length
    await untilAsync('nothing is left', async () => (await left()) === 0, deadlineMs)
  })

  test('a silent node is not ready, keeps its pods for five minutes, and they go with the node', async () => {
    const body = {
      metadata: { name: 'stays' },
      spec: { nodeName: 'node-2', containers: [{ name: 'c', image: 'web:1' }] },
    }
    const pod = `/api/v1/namespaces/${namespace}/pods/stays`
    assert.equal((await server.admin.call('POST', `/api/v1/namespaces/${namespace}/pods`, body)).code, 201)
    await untilAsync('the pod runs', async () => (await get(pod)).status.phase === 'Running', deadlineMs)
    kubelet.silence('node-2')
    const taints = async () => (await get('/api/v1/nodes/node-2')).spec.taints ?? []
    const isLost = ({ key, effect }: Record<string, string>) => key?.endsWith('/unreachable') && effect === 'NoExecute'
    await untilAsync('the node is tainted', async () => (await taints()).some(isLost), deadlineMs)
    await untilAsync(
      'the pod is not ready',
      async () =>
        (await get(pod)).status.conditions.some(
          (each: { type: string; status: string }) => each.type === 'Ready' && each.status === 'False',
        ),
      deadlineMs,
    )
    assert.equal((await get(pod)).metadata.deletionTimestamp, undefined)
    await server.admin.call('DELETE', '/api/v1/nodes/node-2')
    await untilAsync('the pod is gone', async () => (await server.admin.call('GET', pod)).code === 404, deadlineMs)
  })

  test('a second controller manager takes over when the first one is killed, and empties a deleted namespace', async () => {
    await manager.stop('SIGKILL')
    const earlier = manager
    manager = stack.use(startManager())
    await server.admin.call('DELETE', `/api/v1/namespaces/${namespace}`)
    const isGone = async () => (await server.admin.call('GET', `/api/v1/namespaces/${namespace}`)).code === 404
    await untilAsync('the namespace is gone', isGone, deadlineMs)
    assert.deepEqual(earlier.complaints(...ordinary), [])
  })

  test('neither has complained about the server', () => {
    assert.deepEqual(manager.complaints(...ordinary), [])
    assert.deepEqual(scheduler.complaints(...ordinary), [])
    assert.deepEqual(kubelet.failures, [])
  })
})
