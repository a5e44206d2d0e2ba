import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ExecError, runProgram } from '../../../src/host/index.ts'
import { startHollowCluster } from './hollow-kubelet.ts'
import { type ClientsServer, missingPrograms, programFile } from './programs.ts'

const chart = join(import.meta.dirname, 'chart')
const timeoutMs = 180_000

/** The kinds of the chart, by their paths. */
const paths: readonly string[] = [
  '/apis/apps/v1/namespaces/NS/deployments',
  '/api/v1/namespaces/NS/services',
  '/api/v1/namespaces/NS/serviceaccounts',
  '/api/v1/namespaces/NS/configmaps',
  '/api/v1/namespaces/NS/secrets',
  '/apis/networking.k8s.io/v1/namespaces/NS/ingresses',
  '/apis/networking.k8s.io/v1/namespaces/NS/networkpolicies',
  '/apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers',
  '/apis/policy/v1/namespaces/NS/poddisruptionbudgets',
  '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles',
  '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings',
  '/apis/example.com/v1/namespaces/NS/boats',
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
]

interface Revision {
  readonly revision: number
  readonly status: string
  readonly description: string
}

for (const program of ['helm', 'helm-4']) {
  describe(`${program} and a chart with one object of each kind`, { skip: missingPrograms(program) }, () => {
    const stack = new AsyncDisposableStack()
    const release = 'shop'
    const namespace = 'web'
    let server: ClientsServer

    const helm = (...args: readonly string[]) => helmAs(server.kubeconfig, ...args)
    const helmAs = async (kubeconfig: string, ...args: readonly string[]) => {
      const env = { HOME: server.folder, KUBECONFIG: kubeconfig, PATH: process.env['PATH'] ?? '' }
      const file = programFile(program)
      assert.ok(file)
      return (await runProgram(file, [...args, '--namespace', namespace], { timeoutMs, env })).stdout
    }
    const get = async (path: string) => (await server.admin.call('GET', path.replace('NS', namespace))).body
    const message = async () => (await get(`/api/v1/namespaces/NS/configmaps/${release}`)).data?.message
    const history = async () => JSON.parse(await helm('history', release, '--output', 'json')) as readonly Revision[]
    const upgrade = (...values: readonly string[]) =>
      helm('upgrade', release, chart, '--wait', '--timeout', '2m', ...values.flatMap((value) => ['--set', value]))

    before(async () => {
      server = await startHollowCluster(stack, ['node-1', 'node-2'])
    })
    after(() => stack.disposeAsync())

    test('installs it with its definition and its hooks, and waits until its pods are ready', async () => {
      const output = await helm('install', release, chart, '--create-namespace', '--wait', '--timeout', '2m')
      assert.match(output, /STATUS: deployed/)
      for (const path of paths) assert.ok((await get(`${path}/${release}`)).metadata?.uid, path)
      const { status } = await get(`/apis/apps/v1/namespaces/NS/deployments/${release}`)
      assert.equal(status.readyReplicas, 2)
      const boat = await get(`/apis/example.com/v1/namespaces/NS/boats/${release}`)
      assert.deepEqual(boat.spec, { length: 5, ports: ['Hamburg', 'first'] })
      // Hooks that succeeded are deleted.
      assert.deepEqual((await get('/apis/batch/v1/namespaces/NS/jobs')).items, [])
    })

    test('has its policy asked about later objects, and its webhook, which does not answer, ignored', async () => {
      const boats = `/apis/example.com/v1/namespaces/${namespace}/boats`
      const make = (name: string, length: number) =>
        server.admin.call('POST', boats, {
          apiVersion: 'example.com/v1',
          kind: 'Boat',
          metadata: { name },
          spec: { length },
        })
      const refused = await make('long', 100)
      assert.equal(refused.code, 422)
      assert.match(
        refused.body.message,
        /ValidatingAdmissionPolicy 'shop' with binding 'shop' denied request: no boat is that long/,
      )
      assert.equal((await make('short', 99)).code, 201)
      await server.admin.call('DELETE', `${boats}/short`)
    })

    test('upgrades it, goes back to the first revision, and knows the history', async () => {
      await upgrade('message=second', 'replicas=3')
      assert.equal(await message(), 'second')
      const { status } = await get(`/apis/apps/v1/namespaces/NS/deployments/${release}`)
      assert.equal(status.readyReplicas, 3)
      await helm('rollback', release, '1', '--wait', '--timeout', '2m')
      assert.equal(await message(), 'first')
      const revisions = await history()
      assert.deepEqual(
        revisions.map((each) => `${each.revision} ${each.status} ${each.description}`),
        ['1 superseded Install complete', '2 superseded Upgrade complete', '3 deployed Rollback to 1'],
      )
    })

    test('tries an upgrade on the server without a change', async () => {
      const output = await helm('upgrade', release, chart, '--dry-run=server', '--set', 'message=dry')
      assert.match(output, /message: "dry"/)
      assert.equal(await message(), 'first')
      assert.equal((await history()).length, 3)
    })

    test('an upgrade that the server refuses fails, and leaves the revision before it', async () => {
      await assert.rejects(upgrade('replicas=-1'), (thrown: unknown) => {
        assert.ok(thrown instanceof ExecError)
        assert.match(thrown.message, /spec\.replicas: Invalid value/)
        return true
      })
      const revisions = await history()
      assert.deepEqual([revisions.length, revisions.at(-1)?.status], [4, 'failed'])
      assert.equal(await message(), 'first')
    })

    test('keeps a release of nearly 1 MiB in a Secret, and hears why a larger one is refused', async () => {
      await upgrade('fillerBytes=1000000')
      const { data } = await get(`/api/v1/namespaces/NS/secrets/sh.helm.release.v1.${release}.v5`)
      const bytes = Buffer.from(data.release, 'base64').length
      assert.ok(bytes > 1_000_000 && bytes < 1_048_576, `${bytes} bytes`)
      await assert.rejects(upgrade('fillerBytes=1045000'), /data: Too long: may not be more than 1048576 bytes/)
    })

    test('an account that may all in its namespace upgrades the release, another one may not read it', async () => {
      const subjects = [{ kind: 'ServiceAccount', name: release, namespace }]
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' }
      const binding = { metadata: { name: 'helm' }, roleRef, subjects }
      const bindings = '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings'
      const boats = {
        metadata: { name: 'boats', labels: { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' } },
        rules: [{ apiGroups: ['example.com'], resources: ['*'], verbs: ['*'] }],
      }
      await server.admin.call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', boats)
      await server.admin.call('POST', bindings.replace('NS', namespace), binding)
      const reads = await helm('history', release, '--kube-as-user', `system:serviceaccount:${namespace}:${release}`)
      assert.match(reads, /Rollback to 1/)
      const other = helm('history', release, '--kube-as-user', `system:serviceaccount:${namespace}:default`)
      await assert.rejects(other, /secrets is forbidden/)
    })

    test('uninstalls it, but for its definition', async () => {
      await helm('uninstall', release, '--wait', '--timeout', '2m')
      for (const path of paths) assert.equal((await get(`${path}/${release}`)).code, 404, path)
      assert.ok((await get('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.example.com')).metadata)
    })
  })
}
