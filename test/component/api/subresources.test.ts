import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { paths } from '../../helpers/manifests.ts'

describe('subresources that do something', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const post = (path: string, body: unknown) => server.call('POST', path, { body })
  const pod = (name: string, spec: Record<string, unknown> = {}) =>
    post(paths.pods, { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } })

  test('a binding gives a pod its node once, and the condition with it', async () => {
    await pod('unbound')
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'unbound' }, target: { name: 'n1' } }
    const bound = await post(`${paths.pods}/unbound/binding`, binding)
    assert.deepEqual([bound.code, bound.body.status], [201, 'Success'])
    const { metadata, spec, status } = (await server.call('GET', `${paths.pods}/unbound`)).body
    assert.deepEqual([spec.nodeName, metadata.generation], ['n1', 1])
    assert.deepEqual(
      status.conditions.map(({ type, status }: Record<string, string>) => [type, status]),
      [['PodScheduled', 'True']],
    )
    assert.equal((await post(`${paths.pods}/unbound/binding`, binding)).code, 409)
    const annotated = { ...binding, metadata: { name: 'other', annotations: { reason: 'near' } } }
    await pod('other', { schedulerName: 'mine' })
    assert.equal((await post(`${paths.pods}/other/binding`, annotated)).code, 201)
    assert.deepEqual((await server.call('GET', `${paths.pods}/other`)).body.metadata.annotations, { reason: 'near' })
    assert.equal((await post(`${paths.pods}/absent/binding`, { ...binding, metadata: { name: 'absent' } })).code, 404)
    assert.equal((await server.call('GET', `${paths.pods}/unbound/binding`)).code, 405)
  })

  test('a write of a status brings metadata along, so a load balancer can set its finalizer with it', async () => {
    const metadata = { finalizers: ['lb.example/cleanup'], annotations: { zone: 'a' }, labels: { lb: 'x' } }
    const loadBalancer = { ingress: [{ ip: '192.0.2.1' }] }
    const backend = { service: { name: 'lb', port: { number: 80 } } }
    const ingresses = '/apis/networking.k8s.io/v1/namespaces/default/ingresses'
    const kinds: readonly (readonly [path: string, spec: object])[] = [
      [paths.services, { type: 'LoadBalancer', ports: [{ port: 80 }] }],
      [ingresses, { defaultBackend: backend }],
    ]
    for (const [path, spec] of kinds) {
      await post(path, { metadata: { name: 'lb' }, spec })
      const headers = { 'content-type': 'application/merge-patch+json' }
      const body = { metadata, spec: { ports: [], defaultBackend: null }, status: { loadBalancer } }
      const patched = await server.call('PATCH', `${path}/lb/status`, { body, headers })
      assert.equal(patched.code, 200, patched.text)
      const { finalizers, annotations, labels, generation } = patched.body.metadata
      assert.deepEqual({ finalizers, annotations, labels }, metadata)
      assert.deepEqual([patched.body.spec.ports?.length ?? 1, generation ?? 1], [1, 1])
      const { metadata: stored, ...rest } = patched.body
      const without = { ...rest, metadata: { name: 'lb', resourceVersion: stored.resourceVersion } }
      const replaced = await server.call('PUT', `${path}/lb/status`, { body: without })
      assert.deepEqual([replaced.body.metadata.finalizers, replaced.body.metadata.uid], [undefined, stored.uid])
      const managers = replaced.body.metadata.managedFields.map((each: { subresource?: string }) => each.subresource)
      assert.deepEqual(managers, [undefined, 'status'])
    }
  })

  test('a write of a status leaves the metadata of a ServiceCIDR and of a definition alone', async () => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    const cidrs = '/apis/networking.k8s.io/v1/servicecidrs'
    await post(cidrs, { metadata: { name: 'more' }, spec: { cidrs: ['10.200.0.0/24'] } })
    const body = { metadata: { labels: { a: 'b' }, annotations: { a: 'b' } }, status: {} }
    const { metadata } = (await server.call('PATCH', `${cidrs}/more/status`, { body, headers })).body
    assert.deepEqual([metadata.labels, metadata.annotations], [undefined, undefined])
  })

  test("a write of a Deployment's status brings annotations along and leaves its labels alone", async () => {
    const path = '/apis/apps/v1/namespaces/default/deployments'
    const labels = { app: 'noted' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const made = await post(path, {
      metadata: { name: 'noted', labels },
      spec: { selector: { matchLabels: labels }, template },
    })
    const metadata = { name: 'noted', annotations: { revision: '1' }, labels: { other: 'label' } }
    await server.call('PUT', `${path}/noted/status`, { body: { ...made.body, metadata, status: { replicas: 1 } } })
    const { body } = await server.call('GET', `${path}/noted`)
    assert.deepEqual([body.metadata.annotations, body.metadata.labels], [{ revision: '1' }, labels])
    assert.deepEqual(body.spec.strategy, {
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' },
    })
  })

  test('a StatefulSet has a partition, unless it names its strategy without one', async () => {
    const labels = { app: 'set' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const filled = { type: 'RollingUpdate', rollingUpdate: { partition: 0 } }
    const table: readonly (readonly [given: object | undefined, strategy: object])[] = [
      [undefined, filled],
      [{}, filled],
      [{ rollingUpdate: {} }, filled],
      [{ type: 'RollingUpdate', rollingUpdate: {} }, filled],
      [{ type: 'RollingUpdate' }, { type: 'RollingUpdate' }],
      [{ type: 'OnDelete' }, { type: 'OnDelete' }],
    ]
    for (const [updateStrategy, strategy] of table) {
      const spec = { selector: { matchLabels: labels }, template, updateStrategy }
      const sets = '/apis/apps/v1/namespaces/default/statefulsets?dryRun=All'
      const { body } = await post(sets, { metadata: { name: 'set' }, spec })
      assert.deepEqual(body.spec.updateStrategy, strategy)
    }
  })

  test('a pod that makes no sense is refused, field by field, and one that is there keeps its spec', async () => {
    const port = { containerPort: 80, name: 'http' }
    const table: readonly (readonly [spec: Record<string, unknown>, message: RegExp])[] = [
      [{ containers: [] }, /spec\.containers: Required value/],
      [{ containers: [{ name: 'C_' }] }, /containers\[0\]\.name: Invalid value: "C_": a lowercase RFC 1123 label/],
      [{ initContainers: [{ name: 'c' }] }, /initContainers\[0\]\.name: Duplicate value: "c"/],
      [{ containers: [{ name: 'c', ports: [port, port] }] }, /ports\[1\]\.name: Duplicate value: "http"/],
      [{ containers: [{ name: 'c', ports: [{}] }] }, /ports\[0\]\.containerPort: Required value/],
      [{ containers: [{ name: 'c', ports: [{ containerPort: 70_000 }] }] }, /containerPort: Invalid value: 70000/],
      [{ restartPolicy: 'Often' }, /restartPolicy: Unsupported value: "Often": supported values: "Always"/],
      [{ dnsPolicy: 'Mine' }, /dnsPolicy: Unsupported value: "Mine"/],
      [{ dnsPolicy: 'None' }, /spec\.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None/],
      [{ dnsPolicy: 'None', dnsConfig: { searches: ['a'] } }, /nameservers: Required value: must provide at least one/],
      [{ dnsConfig: { nameservers: ['x'] } }, /nameservers\[0\]: Invalid value: "x": must be a valid IP address/],
    ]
    for (const [spec, message] of table) {
      const reply = await pod('senseless', spec)
      assert.equal(reply.code, 422, reply.text)
      assert.match(reply.body.message, message)
    }
    await pod('fixed')
    const headers = { 'content-type': 'application/strategic-merge-patch+json' }
    const patch = (spec: object) => server.call('PATCH', `${paths.pods}/fixed`, { body: { spec }, headers })
    assert.equal((await patch({ containers: [{ name: 'c', image: 'other' }] })).code, 200)
    const refused = await patch({ dnsPolicy: 'Default' })
    assert.equal(refused.code, 422)
    assert.match(refused.body.message, /spec: Forbidden: pod updates may not change fields other than/)
  })

  test('an eviction deletes a pod with the grace it has or is given', async () => {
    await pod('evicted', { nodeName: 'n1', terminationGracePeriodSeconds: 20 })
    const evict = (name: string, more: Record<string, unknown> = {}, query = '') =>
      post(`${paths.pods}/${name}/eviction${query}`, {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name },
        ...more,
      })
    const graceOf = async () =>
      (await server.call('GET', `${paths.pods}/evicted`)).body.metadata.deletionGracePeriodSeconds
    assert.equal((await evict('evicted', {}, '?dryRun=All')).code, 201)
    assert.equal(await graceOf(), undefined)
    assert.equal((await evict('evicted', { deleteOptions: { preconditions: { uid: 'other' } } })).code, 409)
    const first = await evict('evicted')
    assert.deepEqual([first.code, first.body.status], [201, 'Success'])
    assert.equal(await graceOf(), 20)
    await evict('evicted', { deleteOptions: { gracePeriodSeconds: 3 } })
    assert.equal(await graceOf(), 3)
    assert.equal((await evict('evicted', { deleteOptions: 'soon' })).code, 400)
    assert.equal((await evict('evicted', { metadata: { name: 'other' } })).code, 400)
    assert.equal((await evict('absent')).code, 404)
    assert.equal((await server.call('DELETE', `${paths.pods}/evicted/eviction`)).code, 405)
  })

  test('a namespace goes when the last that holds it says so by /finalize, and by nothing else', async () => {
    const path = '/api/v1/namespaces/held'
    const made = await post('/api/v1/namespaces', {
      metadata: { name: 'held' },
      spec: { finalizers: ['example.com/quota'] },
    })
    assert.deepEqual(made.body.spec.finalizers, ['example.com/quota', 'kubernetes'])
    await server.call('PUT', path, { body: { metadata: { name: 'held' }, spec: {} } })
    const ending = await server.call('DELETE', path)
    assert.deepEqual([ending.code, ending.body.status.phase], [200, 'Terminating'])
    assert.deepEqual(ending.body.spec.finalizers, ['example.com/quota', 'kubernetes'])
    const half = await server.call('PUT', `${path}/finalize`, {
      body: { ...ending.body, spec: { finalizers: ['example.com/quota'] } },
    })
    assert.deepEqual([half.code, half.body.spec.finalizers], [200, ['example.com/quota']])
    const stale = await server.call('PUT', `${path}/finalize`, { body: { ...ending.body, spec: { finalizers: [] } } })
    assert.equal(stale.code, 409)
    const last = await server.call('PUT', `${path}/finalize`, { body: { ...half.body, spec: { finalizers: [] } } })
    assert.equal(last.code, 200)
    assert.equal((await server.call('GET', path)).code, 404)
    assert.equal((await server.call('GET', `${path}/finalize`)).code, 405)
  })

  test('a kubelet brings its status along when it makes its Node', async () => {
    const status = { capacity: { pods: '110' }, conditions: [{ type: 'Ready', status: 'True' }] }
    const node = await post('/api/v1/nodes', { metadata: { name: 'n1' }, status })
    assert.deepEqual([node.code, node.body.status], [201, { ...status, allocatable: status.capacity }])
    const free = await pod('cheeky')
    assert.equal(free.body.status.phase, 'Pending')
  })
})

describe('metadata that takes care of itself', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u-1' }

  test('an owner that is named twice is stored once, and the client gets a warning', async () => {
    const made = await server.call('POST', paths.configMaps, {
      body: { metadata: { name: 'owned', ownerReferences: [owner, owner] } },
    })
    assert.deepEqual(made.body.metadata.ownerReferences, [owner])
    assert.match(String(made.headers['warning']), /ownerReferences.*u-1/)
    const second = { ...owner, name: 'p', uid: 'u-2' }
    const patched = await server.call('PATCH', `${paths.configMaps}/owned`, {
      body: [
        { op: 'add', path: '/metadata/ownerReferences/-', value: second },
        { op: 'add', path: '/metadata/ownerReferences/-', value: second },
      ],
      headers: { 'content-type': 'application/json-patch+json' },
    })
    assert.deepEqual(patched.body.metadata.ownerReferences, [owner, second])
    assert.match(String(patched.headers['warning']), /u-2/)
  })

  test('the time of creation stays, whatever a PUT says of it', async () => {
    const { body } = await server.call('POST', paths.configMaps, { body: { metadata: { name: 'dated' } } })
    const put = (creationTimestamp: unknown) =>
      server.call('PUT', `${paths.configMaps}/dated`, { body: { metadata: { name: 'dated', creationTimestamp } } })
    const { creationTimestamp } = body.metadata
    for (const said of [undefined, null, creationTimestamp, '2001-01-01T00:00:00Z']) {
      const replaced = await put(said)
      assert.deepEqual([replaced.code, replaced.body.metadata.creationTimestamp], [200, creationTimestamp])
    }
  })
})
