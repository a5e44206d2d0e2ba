import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { findFreePort } from '../../helpers/free-port.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { untilAsync } from '../../helpers/until.ts'
import { HollowKubelet } from './hollow-kubelet.ts'
import {
  accountKubeconfig,
  ClientProgram,
  type ClientsServer,
  kubectl,
  missingPrograms,
  sourceFile,
  startServer,
} from './programs.ts'

const deadlineMs = 60_000
const name = 'kube-state-metrics'

/** All that it lists by itself, less the kinds that this server does not serve (docs/differences.md). */
const resources = [
  'certificatesigningrequests',
  'configmaps',
  'cronjobs',
  'daemonsets',
  'deployments',
  'endpoints',
  'endpointslices',
  'horizontalpodautoscalers',
  'ingresses',
  'ingressclasses',
  'jobs',
  'leases',
  'limitranges',
  'namespaces',
  'networkpolicies',
  'nodes',
  'poddisruptionbudgets',
  'pods',
  'replicasets',
  'replicationcontrollers',
  'resourcequotas',
  'rolebindings',
  'roles',
  'clusterroles',
  'clusterrolebindings',
  'secrets',
  'serviceaccounts',
  'services',
  'statefulsets',
]

/** The rules of its example for what it lists beyond its defaults. */
const more = {
  metadata: { name: `${name}-more` },
  rules: [
    {
      apiGroups: ['', 'rbac.authorization.k8s.io', 'networking.k8s.io', 'discovery.k8s.io'],
      resources: [
        'serviceaccounts',
        'roles',
        'rolebindings',
        'clusterroles',
        'clusterrolebindings',
        'ingressclasses',
        'endpointslices',
      ],
      verbs: ['list', 'watch'],
    },
  ],
}

describe('kube-state-metrics, with the roles of its example', { skip: missingPrograms(name) }, () => {
  const stack = new AsyncDisposableStack()
  let server: ClientsServer
  let program: ClientProgram
  let port: number

  const metrics = async () =>
    (await httpGet({ host: '127.0.0.1', port, path: '/metrics' }).catch(() => undefined))?.body ?? ''
  const untilShown = (line: string) =>
    untilAsync(`the metrics show ${line}`, async () => (await metrics()).split('\n').includes(line), deadlineMs)

  before(async () => {
    const ports = [`--controller-manager-port=${await findFreePort()}`, `--scheduler-port=${await findFreePort()}`]
    server = stack.use(await startServer('api,controllers,scheduler', ports))
    const kubelet = stack.use(new HollowKubelet(server.admin, ['node-1']))
    await kubelet.start()
    for (const file of ['service-account', 'cluster-role', 'cluster-role-binding'])
      await kubectl(server, ['apply', '-f', sourceFile(name, `examples/standard/${file}.yaml`)])
    const access = '/apis/rbac.authorization.k8s.io/v1'
    await server.admin.call('POST', `${access}/clusterroles`, more)
    await server.admin.call('POST', `${access}/clusterrolebindings`, {
      metadata: more.metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: more.metadata.name },
      subjects: [{ kind: 'ServiceAccount', namespace: 'kube-system', name }],
    })
    await kubectl(server, ['create', 'deployment', 'web', '--image=web:1', '--replicas=2'])
    await kubectl(server, ['create', 'quota', 'few', '--hard=services=3'])
    port = await findFreePort()
    const kubeconfig = await accountKubeconfig(server, 'kube-system', name)
    const [own, listen] = [await findFreePort(), '127.0.0.1']
    const args = [
      `--kubeconfig=${kubeconfig}`,
      `--resources=${resources.join(',')}`,
      `--port=${port}`,
      `--host=${listen}`,
    ]
    program = stack.use(
      new ClientProgram(name, [...args, `--telemetry-port=${own}`, `--telemetry-host=${listen}`], server),
    )
  })
  after(() => stack.disposeAsync())

  test('shows what it has listed', async () => {
    await untilShown('kube_deployment_status_replicas_available{namespace="default",deployment="web"} 2')
    await untilShown('kube_node_status_condition{node="node-1",condition="Ready",status="true"} 1')
    await untilShown('kube_resourcequota{namespace="default",resourcequota="few",resource="services",type="hard"} 3')
    await untilShown('kube_namespace_status_phase{namespace="kube-system",phase="Active"} 1')
    const shown = await metrics()
    const kinds = resources.map((each) => each.replace(/(s|ies|es)$/, '').slice(0, 8))
    assert.deepEqual(
      kinds.filter((kind) => !shown.includes(`# HELP kube_${kind}`)),
      [],
    )
  })

  test('follows changes', async () => {
    await kubectl(server, ['scale', 'deployment', 'web', '--replicas=4'])
    await untilShown('kube_deployment_status_replicas_available{namespace="default",deployment="web"} 4')
    await kubectl(server, ['label', 'node', 'node-1', 'zone=a'])
    await kubectl(server, ['delete', 'deployment', 'web'])
    await untilAsync('no pod is shown', async () => !/^kube_pod_info/m.test(await metrics()), deadlineMs)
  })

  test('has no complaint, and no watch that fails', async () => {
    assert.deepEqual(program.complaints(/Neither --kubeconfig nor|client_config/), [])
    assert.doesNotMatch(await metrics(), /kube_state_metrics_(list|watch)_total\{[^}]*result="error"\} [1-9]/)
  })
})
