import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'

const networking = '/apis/networking.k8s.io/v1'
const inDefault = (api: string, plural: string) => `${api}/namespaces/default/${plural}`
const paths = {
  secrets: inDefault('/api/v1', 'secrets'),
  events: inDefault('/api/v1', 'events'),
  groupEvents: inDefault('/apis/events.k8s.io/v1', 'events'),
  leases: inDefault('/apis/coordination.k8s.io/v1', 'leases'),
  policies: inDefault(networking, 'networkpolicies'),
  ingresses: inDefault(networking, 'ingresses'),
  classes: `${networking}/ingressclasses`,
  cidrs: `${networking}/servicecidrs`,
  addresses: `${networking}/ipaddresses`,
  deployments: inDefault('/apis/apps/v1', 'deployments'),
} as const
const mergePatch = { 'content-type': 'application/merge-patch+json' }

type Body = Record<string, unknown>
type Row = readonly [path: keyof typeof paths, body: Body, message: RegExp]

const policy = (spec: Body): Body => ({ spec })
const from = (peer: unknown): Body => policy({ ingress: [{ from: [peer] }] })
const rule = (path: Body): Body => ({ spec: { rules: [{ host: 'a.example', http: { paths: [path] } }] } })
const backend = { service: { name: 'web', port: { number: 80 } } }
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }

const refused: readonly Row[] = [
  ['secrets', { data: { 'bad/key': '' } }, /data\[bad\/key\]: Invalid value: "bad\/key": a valid config key/],
  ['secrets', { type: 'kubernetes.io/tls', data: { 'tls.crt': '' } }, /data\[tls\.key\]: Required value/],
  [
    'secrets',
    { type: 'kubernetes.io/basic-auth' },
    /\[data\[username\]: Required value, data\[password\]: Required value\]/,
  ],
  [
    'secrets',
    { type: 'kubernetes.io/service-account-token' },
    /metadata\.annotations\[kubernetes\.io\/service-account\.name\]: Required value/,
  ],
  [
    'events',
    { involvedObject: { namespace: 'other' } },
    /involvedObject\.namespace: Invalid value: "other": does not match/,
  ],
  ['groupEvents', { regarding: {}, note: 'n' }, /eventTime: Required value.*type: Invalid value/],
  [
    'leases',
    { spec: { leaseDurationSeconds: 0 } },
    /spec\.leaseDurationSeconds: Invalid value: 0: must be greater than 0/,
  ],
  [
    'policies',
    policy({ policyTypes: ['Sideways'] }),
    /policyTypes\[0\]: Unsupported value: "Sideways": supported values: "Ingress", "Egress"/,
  ],
  ['policies', from({}), /spec\.ingress\[0\]\.from\[0\]: Required value: must specify a peer/],
  [
    'policies',
    from({ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }),
    /from\[0\]: Forbidden: may not specify both ipBlock and another peer/,
  ],
  [
    'policies',
    from({ ipBlock: { cidr: '10.0.0.300/8' } }),
    /ipBlock\.cidr: Invalid value: "10\.0\.0\.300\/8": must be a valid CIDR/,
  ],
  [
    'policies',
    from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8'] } }),
    /except\[0\]: Invalid value: "10\.0\.0\.0\/8": must be a strict subset of `cidr`/,
  ],
  [
    'policies',
    policy({ ingress: [{ ports: [{ port: 90, endPort: 80 }] }] }),
    /endPort: Invalid value: 80: must be greater than or equal to `port`/,
  ],
  [
    'policies',
    policy({ ingress: [{ ports: [{ port: 'web', endPort: 80 }] }] }),
    /may not be specified when `port` is non-numeric/,
  ],
  ['policies', policy({ egress: [{ ports: [{ protocol: 'ICMP' }] }] }), /protocol: Unsupported value: "ICMP"/],
  [
    'policies',
    policy({ podSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }),
    /podSelector\.matchExpressions\[0\]\.values: Required value: must be specified when `operator` is 'In' or 'NotIn'/,
  ],
  ['ingresses', { spec: {} }, /spec: Invalid value: null: either `defaultBackend` or `rules` must be specified/],
  ['ingresses', rule({ path: '/', backend }), /paths\[0\]\.pathType: Required value: pathType must be specified/],
  ['ingresses', rule({ path: '/', pathType: 'Regex', backend }), /pathType: Unsupported value: "Regex"/],
  ['ingresses', rule({ path: 'x', pathType: 'Prefix', backend }), /path: Invalid value: "x": must be an absolute path/],
  [
    'ingresses',
    rule({ path: '/a/../b', pathType: 'Exact', backend }),
    /path: Invalid value: "\/a\/\.\.\/b": must not contain '\/\.\.\/'/,
  ],
  [
    'ingresses',
    rule({ path: '/', pathType: 'Exact', backend: {} }),
    /backend: Invalid value: "": resource or service backend is required/,
  ],
  [
    'ingresses',
    rule({ path: '/', pathType: 'Exact', backend: { service: { name: 'web', port: { name: 'a', number: 1 } } } }),
    /paths\[0\]\.backend: Invalid value: "": cannot set both port name & port number/,
  ],
  [
    'ingresses',
    { spec: { rules: [{ host: '10.0.0.1' }] } },
    /rules\[0\]\.host: Invalid value: "10\.0\.0\.1": must be a DNS name, not an IP address/,
  ],
  ['classes', { spec: {} }, /spec\.controller: Required value/],
  [
    'classes',
    { spec: { controller: 'a.io/b c' } },
    /spec\.controller: Invalid value: "b c": Invalid path \(regex used for validation is/,
  ],
  ['classes', { spec: { controller: 'A.io/b' } }, /spec\.controller: Invalid value: "A\.io": a lowercase RFC 1123/],
  [
    'classes',
    { spec: { controller: `a.io/${'x'.repeat(250)}` } },
    /spec\.controller: Too long: may not be more than 250/,
  ],
  ['classes', { spec: { controller: 'plain' } }, /must be a domain-prefixed path \(such as "acme\.io\/foo"\)/],
  [
    'classes',
    { spec: { controller: 'a.io/b', parameters: { kind: 'K', name: 'n', scope: 'Namespace' } } },
    /parameters\.namespace: Required value: `parameters\.scope` is set to 'Namespace'/,
  ],
  ['cidrs', { spec: {} }, /spec\.cidrs: Required value: at least one CIDR required/],
  [
    'cidrs',
    { spec: { cidrs: ['10.0.0.1/24'] } },
    /spec\.cidrs\[0\]: Invalid value: "10\.0\.0\.1\/24": must not have bits set beyond the prefix length/,
  ],
  ['cidrs', { spec: { cidrs: ['10.0.0.0/24', '10.1.0.0/24'] } }, /may specify no more than one IP for each IP family/],
  [
    'addresses',
    { metadata: { name: 'web' }, spec: {} },
    /metadata\.name: Invalid value: "web": must be a valid IP address/,
  ],
  ['addresses', { metadata: { name: '10.9.9.9' } }, /spec\.parentRef: Required value/],
  [
    'addresses',
    { metadata: { name: 'FD00::1' }, spec: { parentRef: { resource: 'r', name: 'n' } } },
    /must be in canonical form \("fd00::1"\)/,
  ],
  ['deployments', { spec: { template } }, /spec\.selector: Required value/],
  [
    'deployments',
    { spec: { selector: { matchLabels: { app: 'other' } }, template } },
    /spec\.template\.metadata\.labels: Invalid value: \{"app":"web"\}: `selector` does not match template `labels`/,
  ],
  [
    'deployments',
    {
      spec: {
        selector: { matchLabels: { app: 'web' } },
        template: { ...template, spec: { containers: [{ image: 'i' }] } },
      },
    },
    /spec\.template\.spec\.containers\[0\]\.name: Required value/,
  ],
]

describe('built-in kinds', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const create = (path: string, name: string, body: Body = {}) =>
    server.call('POST', path, { body: { metadata: { name }, ...body } })
  const patch = (path: string, body: Body) => server.call('PATCH', path, { body, headers: mergePatch })

  for (const [path, body, message] of refused) {
    test(`${path}: ${JSON.stringify(body)} is refused`, async () => {
      const reply = await create(paths[path], 'bad', body)
      assert.equal(reply.code, 422, reply.text)
      assert.match(reply.body.message, message)
    })
  }

  test('a Secret takes plain strings, shows base64, keeps its type, and is frozen when it says so', async () => {
    const made = await create(paths.secrets, 's', { stringData: { word: 'blue' }, data: { other: 'YQ==' } })
    assert.deepEqual([made.body.type, made.body.data], ['Opaque', { word: 'Ymx1ZQ==', other: 'YQ==' }])
    assert.equal(made.body.stringData, undefined)
    const retyped = await patch(`${paths.secrets}/s`, { type: 'other' })
    assert.match(retyped.body.message, /type: Invalid value: "other": field is immutable/)
    await patch(`${paths.secrets}/s`, { immutable: true })
    const changed = await patch(`${paths.secrets}/s`, { stringData: { word: 'red' } })
    assert.match(changed.body.message, /data: Forbidden: field is immutable when `immutable` is set/)
    const listed = await server.call('GET', `${paths.secrets}?fieldSelector=type%3DOpaque`)
    assert.equal(listed.body.items.length, 1)
  })

  test('Endpoints answer with the Warning that they are deprecated', async () => {
    const { headers } = await server.call('GET', '/api/v1/namespaces/default/endpoints')
    assert.match(String(headers['warning']), /^299 - "v1 Endpoints is deprecated in v1\.33\+; use discovery/)
  })

  test('one Event is seen in two groups under the names of each', async () => {
    const event = { involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' }, reason: 'Started', message: 'up' }
    await create(paths.events, 'e', event)
    const seen = await server.call('GET', `${paths.groupEvents}/e`)
    assert.deepEqual([seen.body.apiVersion, seen.body.note, seen.body.regarding.name], ['events.k8s.io/v1', 'up', 'p'])
    assert.equal(seen.body.involvedObject, undefined)
    const made = await create(paths.groupEvents, 'g', {
      regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
      note: 'down',
      eventTime: '2026-01-02T03:04:05.000006Z',
      reportingController: 'test',
      reportingInstance: 'test-1',
      action: 'Stop',
      reason: 'Stopped',
      type: 'Normal',
    })
    assert.equal(made.code, 201, made.text)
    const selector = 'fieldSelector=involvedObject.name%3Dp%2Creason%3DStopped'
    const core = await server.call('GET', `${paths.events}?${selector}`)
    const [found] = core.body.items
    assert.deepEqual([core.body.items.length, found.message, core.body.apiVersion], [1, 'down', 'v1'])
    assert.equal(found.reportingComponent, 'test')
    const about = await server.call('GET', `${paths.groupEvents}?fieldSelector=regarding.name%3Dp`)
    assert.equal(about.body.items.length, 2)
  })

  test('a watch of one version tells of writes to the other, in its own words', async () => {
    const events = server.watch(
      `${networking.replace('/v1', '/v1beta1')}/servicecidrs?watch=true&fieldSelector=metadata.name%3Dtwin`,
    )
    await create(paths.cidrs, 'twin', { spec: { cidrs: ['192.0.2.0/28'] } })
    const { value } = await events.next()
    assert.deepEqual([value?.type, value?.object.apiVersion], ['ADDED', 'networking.k8s.io/v1beta1'])
    await events.return(undefined)
    const got = await server.call('GET', `${paths.cidrs}/twin`)
    assert.equal(got.body.apiVersion, 'networking.k8s.io/v1')
    assert.equal(got.body.status.conditions[0].type, 'Ready')
  })

  test('the ranges of a ServiceCIDR stay, a second family may come', async () => {
    await create(paths.cidrs, 'grows', { spec: { cidrs: ['192.0.2.16/28'] } })
    const changed = await patch(`${paths.cidrs}/grows`, { spec: { cidrs: ['192.0.2.32/28'] } })
    assert.match(changed.body.message, /spec\.cidrs\[0\]: Invalid value: "192\.0\.2\.32\/28": field is immutable/)
    const grown = await patch(`${paths.cidrs}/grows`, { spec: { cidrs: ['192.0.2.16/28', 'fd00::/112'] } })
    assert.equal(grown.code, 200)
  })

  test('a Lease is replaced only by a client that has seen its newest state', async () => {
    const made = await create(paths.leases, 'l', { spec: { holderIdentity: 'a' } })
    const blind = await server.call('PUT', `${paths.leases}/l`, { body: { metadata: { name: 'l' }, spec: {} } })
    assert.match(
      blind.body.message,
      /^leases\.\S+ "\S+" is invalid: metadata\.resourceVersion: Invalid value: 0: must be specified for an update$/,
    )
    assert.equal((await server.call('PUT', `${paths.leases}/l`, { body: made.body })).code, 200)
  })

  test('a NetworkPolicy gets its types and protocols', async () => {
    const both = await create(paths.policies, 'both', { spec: { egress: [{ ports: [{ port: 53 }] }] } })
    assert.deepEqual(both.body.spec, {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      egress: [{ ports: [{ protocol: 'TCP', port: 53 }] }],
    })
    const one = await create(paths.policies, 'one', { spec: {} })
    assert.deepEqual(one.body.spec.policyTypes, ['Ingress'])
    assert.equal(one.body.metadata.generation, 1)
  })

  test('an Ingress without a class gets the default one, and is refused where there are two', async () => {
    const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' }
    const spec = { controller: 'example.com/c' }
    await server.call('POST', paths.classes, { body: { metadata: { name: 'usual', annotations }, spec } })
    const made = await create(paths.ingresses, 'plain', { spec: { defaultBackend: backend } })
    assert.equal(made.body.spec.ingressClassName, 'usual')
    const named = await create(paths.ingresses, 'named', { spec: { ingressClassName: 'x', defaultBackend: backend } })
    assert.equal(named.body.spec.ingressClassName, 'x')
    await server.call('POST', paths.classes, { body: { metadata: { name: 'second', annotations }, spec } })
    const refused = await create(paths.ingresses, 'unsure', { spec: { defaultBackend: backend } })
    assert.equal(refused.code, 422)
    assert.match(
      refused.body.message,
      /spec\.ingressClassName: Required value: 2 IngressClasses are marked as default \(second, usual\): name one, or leave one marked$/,
    )
    const still = await create(paths.ingresses, 'still', { spec: { ingressClassName: 'x', defaultBackend: backend } })
    assert.equal(still.code, 201)
    assert.equal((await server.call('DELETE', `${paths.classes}/second`)).code, 200)
    const moved = await patch(`${paths.classes}/usual`, { spec: { controller: 'example.com/d' } })
    assert.match(moved.body.message, /spec\.controller: Invalid value: "example\.com\/d": field is immutable/)
  })

  test('a strategic merge patch scales a Deployment', async () => {
    const spec = { selector: { matchLabels: { app: 'web' } }, template }
    await create(paths.deployments, 'scaled', { spec })
    const headers = { 'content-type': 'application/strategic-merge-patch+json' }
    const scale = `${paths.deployments}/scaled/scale`
    const { code, body } = await server.call('PATCH', scale, { body: { spec: { replicas: 3 } }, headers })
    assert.deepEqual([code, body.kind, body.spec.replicas], [200, 'Scale', 3])
    assert.equal((await server.call('GET', `${paths.deployments}/scaled`)).body.spec.replicas, 3)
  })

  test('a number that its field cannot hold is refused, and the error shows it', async () => {
    const spec = { replicas: 2 ** 31, selector: { matchLabels: { app: 'web' } }, template }
    const { code, body } = await create(paths.deployments, 'many', { spec })
    assert.equal(code, 400)
    assert.match(body.message, /spec\.replicas: expected int32, found 2147483648$/)
  })

  test('a Deployment gets its defaults and keeps its selector', async () => {
    const made = await create(paths.deployments, 'd', { spec: { selector: { matchLabels: { app: 'web' } }, template } })
    assert.equal(made.code, 201, made.text)
    assert.deepEqual([made.body.spec.replicas, made.body.spec.template.spec.restartPolicy], [1, 'Always'])
    const moved = await patch(`${paths.deployments}/d`, { spec: { selector: { matchLabels: { app: 'web', v: '2' } } } })
    assert.match(moved.body.message, /field is immutable/)
  })

  test('a namespace with Events of both groups can be deleted', async () => {
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'busy' } } })
    const body = { metadata: { name: 'e' }, involvedObject: { namespace: 'busy' } }
    assert.equal((await server.call('POST', '/api/v1/namespaces/busy/events', { body })).code, 201)
    assert.equal((await server.call('DELETE', '/api/v1/namespaces/busy')).code, 200)
  })
})

test('the platform dialect serves the same kinds under its own groups, the ServiceCIDR as v1beta1', async () => {
  await using server = await startTestServer({ dialect: 'platform' })
  const body = { metadata: { name: 'extra' }, spec: { cidrs: ['192.0.2.0/24'] } }
  const made = await server.call('POST', '/apis/networking.platform.internal/v1beta1/servicecidrs', { body })
  assert.deepEqual([made.code, made.body.apiVersion], [201, 'networking.platform.internal/v1beta1'])
  for (const path of ['events.platform.internal/v1/events', 'coordination.platform.internal/v1/leases']) {
    assert.equal((await server.call('GET', `/apis/${path}`)).code, 200, path)
  }
  const tls = { metadata: { name: 's' }, type: 'platform.internal/tls' }
  const secret = await server.call('POST', paths.secrets, { body: tls })
  assert.match(secret.body.message, /data\[tls\.crt\]: Required value/)
})
