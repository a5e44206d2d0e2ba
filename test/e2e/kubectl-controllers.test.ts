import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { findFreePort } from '../helpers/free-port.ts'
import { httpGet } from '../helpers/http-get.ts'
import { missingKubectl } from '../helpers/kubectl.ts'
import { PlatnetServer } from '../helpers/platnet-server.ts'
import { untilAsync } from '../helpers/until.ts'

const execute = promisify(execFile)

const node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'east' } },
}
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'shop' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'shop' } },
    template: {
      metadata: { labels: { app: 'shop' } },
      spec: { containers: [{ name: 'main', image: 'shop', ports: [{ name: 'http', containerPort: 8080 }] }] },
    },
  },
}
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'shop' },
  spec: { selector: { app: 'shop' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
}

describe('platnet server with all its parts, from a manifest to endpoints', { skip: missingKubectl() }, () => {
  let server: PlatnetServer
  let ports: readonly number[]

  const kubectl = async (...args: string[]) => {
    const kubeconfig = join(server.dataDir, 'admin.kubeconfig')
    // The metrics of a server take about 1 MiB, as each resource and verb has its buckets.
    const options = { timeout: 30_000, maxBuffer: 16 * 1024 * 1024 }
    return (await execute('kubectl', ['--kubeconfig', kubeconfig, ...args], options)).stdout
  }
  const apply = async (object: object) => {
    const call = execute('kubectl', ['--kubeconfig', join(server.dataDir, 'admin.kubeconfig'), 'apply', '-f', '-'])
    call.child.stdin?.end(JSON.stringify(object))
    await call
  }
  const patchStatus = (name: string, status: object) =>
    kubectl('patch', name, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }))

  before(async () => {
    ports = await Promise.all([findFreePort(), findFreePort(), findFreePort()])
    const [api = 0, controllers, scheduler] = ports
    const flags = ['--dialect=kubernetes', `--controller-manager-port=${controllers}`, `--scheduler-port=${scheduler}`]
    server = new PlatnetServer(mkdtempSync(join(tmpdir(), 'plt-test-')), api, {}, flags)
    await server.start()
  })
  after(async () => {
    assert.equal(await server.stop('SIGTERM'), 0)
    rmSync(server.dataDir, { recursive: true })
  })

  test('pods of a Deployment get a node, their Service slices and Endpoints, each with what belongs there', async () => {
    await apply(node)
    await patchStatus('node/n1', { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } })
    await apply(service)
    await apply(deployment)
    const podsOnNode = async () =>
      (
        await kubectl('get', 'pods', '-o', 'jsonpath={range .items[?(@.spec.nodeName=="n1")]}{.metadata.name} {end}')
      ).trim()
    await untilAsync('both pods have a node', async () => (await podsOnNode()).split(' ').length === 2, 20_000)
    for (const [index, pod] of (await podsOnNode()).split(' ').entries()) {
      const conditions = [{ type: 'Ready', status: 'True' }]
      await patchStatus(`pod/${pod}`, { phase: 'Running', podIP: `10.244.0.${index + 1}`, conditions })
    }
    const select = ['-l', 'kubernetes.io/service-name=shop']
    const slices = async () => JSON.parse(await kubectl('get', 'endpointslices', ...select, '-o', 'json')).items
    await untilAsync('both are in a slice', async () => (await slices())[0]?.endpoints?.length === 2, 20_000)
    const [slice, ...others] = await slices()
    assert.equal(others.length, 0)
    assert.deepEqual(slice.ports, [{ name: 'http', port: 8080, protocol: 'TCP' }])
    for (const endpoint of slice.endpoints) {
      assert.deepEqual(endpoint.conditions, { ready: true, serving: true, terminating: false })
      assert.deepEqual([endpoint.nodeName, endpoint.zone], ['n1', 'east'])
    }
    const addresses = await kubectl('get', 'endpoints', 'shop', '-o', 'jsonpath={.subsets[0].addresses[*].ip}')
    assert.equal(addresses, '10.244.0.1 10.244.0.2')
  })

  test('a node is drained, its pods wait and say why, and come back when it is open again', async () => {
    assert.match(await kubectl('drain', 'n1', '--grace-period=0', '--timeout=60s'), /node\/n1 drained/)
    const scheduled = () =>
      kubectl('get', 'pods', '-o', 'jsonpath={.items[*].status.conditions[?(@.type=="PodScheduled")].status}')
    await untilAsync('others wait', async () => (await scheduled()) === 'False False', 30_000)
    const query = ['get', 'events', '--field-selector=reason=FailedScheduling', '-o', 'jsonpath={.items[*].message}']
    const isReported = async () => /1 node\(s\) were unschedulable/.test(await kubectl(...query))
    await untilAsync('the scheduler says why', isReported, 30_000)
    await kubectl('uncordon', 'n1')
    await untilAsync('they have a node', async () => (await scheduled()) === 'True True', 30_000)
    const sources = (await kubectl('get', 'events', '-o', 'jsonpath={.items[*].source.component}')).split(' ')
    const tellers = ['default-scheduler', 'deployment-controller', 'node-controller', 'replicaset-controller']
    assert.deepEqual(new Set([...tellers, ...sources]), new Set(sources))
  })

  test('a namespace is deleted with all that is in it, and kubectl waits for that', async () => {
    await kubectl('create', 'namespace', 'shop')
    await kubectl('create', 'configmap', 'prices', '-n', 'shop', '--from-literal=bread=3')
    await kubectl('create', 'deployment', 'till', '-n', 'shop', '--image=till', '--replicas=2')
    const podsOf = async () => (await kubectl('get', 'pods', '-n', 'shop', '-o', 'name')).trim().split('\n')
    await untilAsync('its pods are there', async () => (await podsOf()).length === 2, 30_000)
    await kubectl(
      'wait',
      '-n',
      'shop',
      '--for=jsonpath={.metadata.name}=default',
      'serviceaccount/default',
      '--timeout=25s',
    )
    const deletion = kubectl('delete', 'namespace', 'shop', '--timeout=28s')
    // The node has no agent, so the test itself ends the pods.
    await untilAsync(
      'its pods are gone',
      async () => {
        await kubectl('delete', 'pods', '--all', '-n', 'shop', '--grace-period=0', '--force', '--wait=false')
        return (await podsOf()).join('') === ''
      },
      30_000,
    )
    assert.match(await deletion, /namespace "shop" deleted/)
    await assert.rejects(kubectl('get', 'namespace', 'shop'), /NotFound/)
  })

  test('both managers hold their lease and serve health and metrics on ports of their own', async () => {
    const [, ...managers] = ports
    const texts: string[] = []
    for (const port of managers) {
      const [health, metrics] = await Promise.all(
        ['/healthz', '/metrics'].map((path) => httpGet({ host: '127.0.0.1', port, path })),
      )
      assert.equal(health?.status, 200)
      texts.push(metrics?.body ?? '')
    }
    const [controllers = '', scheduler = ''] = texts
    assert.match(controllers, /workqueue_depth\{name="endpointslice"\}/)
    assert.match(controllers, /leader_election_master_status\{name="kube-controller-manager"\} 1/)
    assert.match(scheduler, /workqueue_depth\{name="scheduler"\}/)
    assert.match(scheduler, /leader_election_master_status\{name="kube-scheduler"\} 1/)
    assert.doesNotMatch(controllers, /"(kube-)?scheduler"|apiserver_/)
    assert.doesNotMatch(scheduler, /"endpointslice"|"kube-controller-manager"|apiserver_/)
    const api = await kubectl('get', '--raw=/metrics')
    assert.match(api, /^apiserver_request_total/m)
    assert.doesNotMatch(api, /workqueue_|leader_election/)
    const leases = await kubectl('get', 'leases', '-n', 'kube-system', '-o', 'jsonpath={.items[*].metadata.name}')
    assert.equal(leases, 'kube-controller-manager kube-scheduler')
  })
})
