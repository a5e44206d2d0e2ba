import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { findFreePort } from '../../helpers/free-port.ts'
import { untilAsync } from '../../helpers/until.ts'
import { HollowKubelet } from './hollow-kubelet.ts'
import { ClientProgram, type ClientsServer, kubectl, missingPrograms, sourceFile, startServer } from './programs.ts'

const deadlineMs = 90_000
const name = 'prometheus-operator'
const namespace = 'default'
const group = `/apis/monitoring.coreos.com/v1/namespaces/${namespace}`

describe('prometheus-operator, with the roles of its example', { skip: missingPrograms(name) }, () => {
  const stack = new AsyncDisposableStack()
  let server: ClientsServer
  let program: ClientProgram

  const call = (method: string, path: string, body?: unknown) => server.admin.call(method, path, body)
  const get = async (path: string) => (await call('GET', path)).body
  const make = async (plural: string, object: string, spec: object, labels = {}) => {
    const kinds: Readonly<Record<string, string>> = {
      prometheuses: 'Prometheus',
      alertmanagers: 'Alertmanager',
      servicemonitors: 'ServiceMonitor',
      prometheusrules: 'PrometheusRule',
    }
    const body = {
      apiVersion: 'monitoring.coreos.com/v1',
      kind: kinds[plural],
      metadata: { name: object, labels },
      spec,
    }
    const reply = await call('POST', `${group}/${plural}`, body)
    assert.equal(reply.code, 201, JSON.stringify(reply.body))
  }
  const isAvailable = (plural: string, object: string) => async () => {
    const { conditions = [] } = (await get(`${group}/${plural}/${object}`)).status ?? {}
    return conditions.some(
      (each: { type: string; status: string }) => each.type === 'Available' && each.status === 'True',
    )
  }
  const configuration = async () => {
    const secret = await get(`/api/v1/namespaces/${namespace}/secrets/prometheus-main`)
    const packed = secret.data?.['prometheus.yaml.gz']
    return packed === undefined ? '' : gunzipSync(Buffer.from(packed, 'base64')).toString()
  }

  before(async () => {
    const ports = [`--controller-manager-port=${await findFreePort()}`, `--scheduler-port=${await findFreePort()}`]
    server = stack.use(await startServer('api,controllers,scheduler', ports))
    const kubelet = stack.use(new HollowKubelet(server.admin, ['node-1']))
    await kubelet.start()
    await kubectl(server, ['apply', '--server-side', '-f', sourceFile(name, 'example/prometheus-operator-crd')])
    for (const file of ['service-account', 'cluster-role', 'cluster-role-binding'])
      await kubectl(server, ['apply', '-f', sourceFile(name, `example/rbac/${name}/${name}-${file}.yaml`)])
    const { host, port, ca, cert, key } = server.access
    const files = Object.entries({ ca, cert, key }).map(([each, pem]) => {
      writeFileSync(join(server.folder, `${each}.pem`), pem, { mode: 0o600 })
      return `--${each}-file=${join(server.folder, `${each}.pem`)}`
    })
    const args = [`--apiserver=https://${host}:${port}`, ...files, `--as=system:serviceaccount:${namespace}:${name}`]
    const own = ['--kubelet-service=kube-system/kubelet', '--kubelet-endpointslice', '--kubelet-sync-period=5s']
    const listen = `--web.listen-address=127.0.0.1:${await findFreePort()}`
    program = stack.use(new ClientProgram(name, [...args, ...own, listen], server))
  })
  after(() => stack.disposeAsync())

  test('makes the StatefulSet of a Prometheus, and says when its pods run', async () => {
    const all = { matchLabels: {} }
    await make('prometheuses', 'main', { replicas: 2, serviceMonitorSelector: all, ruleSelector: all })
    await untilAsync('it is available', isAvailable('prometheuses', 'main'), deadlineMs)
    const { spec, status } = await get(`/apis/apps/v1/namespaces/${namespace}/statefulsets/prometheus-main`)
    assert.deepEqual([spec.replicas, status.readyReplicas], [2, 2])
    assert.ok((await get(`/api/v1/namespaces/${namespace}/services/prometheus-operated`)).spec)
  })

  test('writes what ServiceMonitors and rules ask for into its configuration', async () => {
    const selector = { matchLabels: { app: 'web' } }
    await make('servicemonitors', 'web', { selector, endpoints: [{ port: 'http', interval: '7s' }] })
    await untilAsync(
      'the job is there',
      async () => /serviceMonitor\/default\/web\/0/.test(await configuration()),
      deadlineMs,
    )
    assert.match(await configuration(), /scrape_interval: 7s/)
    const rules = [{ alert: 'Down', expr: 'up == 0', for: '1m', labels: { severity: 'page' } }]
    await make('prometheusrules', 'alerts', { groups: [{ name: 'all', rules }] })
    const map = `/api/v1/namespaces/${namespace}/configmaps/prometheus-main-rulefiles-0`
    const written = async () => JSON.stringify((await get(map)).data ?? {})
    await untilAsync('the rule is there', async () => (await written()).includes('up == 0'), deadlineMs)
    await call('DELETE', `${group}/servicemonitors/web`)
    await untilAsync('the job is gone', async () => !/serviceMonitor/.test(await configuration()), deadlineMs)
  })

  test('keeps the kubelets as endpoints, and goes on with changes of its objects', async () => {
    await untilAsync(
      'the Service is there',
      async () => (await get('/api/v1/namespaces/kube-system/services/kubelet')).spec !== undefined,
      deadlineMs,
    )
    await make('alertmanagers', 'main', { replicas: 1 })
    await untilAsync('it is available', isAvailable('alertmanagers', 'main'), deadlineMs)
    const scale = await call('PATCH', `${group}/prometheuses/main/scale`, { spec: { replicas: 1 } })
    assert.equal(scale.code, 200, JSON.stringify(scale.body))
    const replicas = async () =>
      (await get(`/apis/apps/v1/namespaces/${namespace}/statefulsets/prometheus-main`)).status.replicas
    await untilAsync('one pod is left', async () => (await replicas()) === 1, deadlineMs)
    await call('DELETE', `${group}/alertmanagers/main`)
    const isGone = async () =>
      (await call('GET', `/apis/apps/v1/namespaces/${namespace}/statefulsets/alertmanager-main`)).code === 404
    await untilAsync('the StatefulSet is gone', isGone, deadlineMs)
  })

  test('has no complaint about the server', () => {
    const lines = program.log.split('\n').filter((line) => /level=(ERROR|WARN)|^[EWF]\d{4} /i.test(line))
    const ordinary = [/the object has been modified/, /client_config/]
    assert.deepEqual(
      lines.filter((line) => !ordinary.some((pattern) => pattern.test(line))),
      [],
    )
  })
})
