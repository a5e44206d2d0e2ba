import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { matchRequest } from '../../../../src/node/ingress/match.ts'
import { IngressCluster, ingressDialect, ingressOf, ourController } from '../../../helpers/ingress-cluster.ts'
import { makeEndpoint, makePort, makeSlice } from '../../../helpers/services.ts'

/** The Ingress and the Service that answer a request. */
function answer({ step }: IngressCluster, url: string): string {
  const { host, pathname } = new URL(`http://${url}`)
  const match = matchRequest(step.table, { host, path: pathname })
  return match.kind === 'none' ? '404' : `${match.route.ingress} ${match.backend.service}:${match.backend.port}`
}

const shop = { key: 'shop/web', rules: { 'shop.example.com': { '/': 'web:80' } } }

describe('An Ingress is served', () => {
  const classRows: readonly (readonly [title: string, className: string | null, isServed: boolean])[] = [
    ['of a class with our controller', 'edge', true],
    ['and not of a class with another controller', 'other', false],
    ['and not of a class that does not exist', 'gone', false],
    ['and not without a class', null, false],
  ]
  for (const [title, className, isServed] of classRows) {
    test(title, () => {
      const cluster = new IngressCluster()
      cluster.put({ ...shop, className })
      assert.equal(answer(cluster, 'shop.example.com/'), isServed ? 'shop/web shop/web:80' : '404')
      assert.equal(cluster.problems().length, isServed ? 1 : 0)
    })
  }

  test('while its class is ours', () => {
    const cluster = new IngressCluster()
    cluster.put({ ...shop, className: 'late' })
    const answers = [{ name: 'late', controller: ourController }, { name: 'late', controller: 'a.b/c' }, undefined].map(
      (found) => {
        cluster.update({ classes: new Map([['late', found]]) })
        return answer(cluster, 'shop.example.com/')
      },
    )
    assert.deepEqual(answers, ['shop/web shop/web:80', '404', '404'])
    assert.deepEqual([...cluster.step.table.backends], [])
  })

  test('by the annotation that was before the field', () => {
    const cluster = new IngressCluster()
    cluster.put({ ...shop, className: null, annotations: { [ingressDialect.annotations.ingressClass]: 'edge' } })
    assert.equal(answer(cluster, 'shop.example.com/'), 'shop/web shop/web:80')
  })

  test('with its problems while it is ours alone', () => {
    const cluster = new IngressCluster()
    const broken = { ...shop, annotations: { [ingressDialect.annotations.ingressBalance]: 'random' } }
    cluster.serve('shop/web', ['10.0.0.1'])
    cluster.put(broken)
    assert.match(cluster.problems().join(), /^shop\/web: Ingress shop\/web: metadata.annotations.*"random"$/)
    cluster.put({ ...broken, className: 'other' })
    assert.deepEqual(cluster.problems(), [])
  })
})

describe('Of two Ingresses with one path', () => {
  const old = { key: 'b/old', age: 60, rules: { 'shop.example.com': { '/x': 'old:80', '=/x': 'old:80' } } }
  const young = { key: 'a/young', age: 30, rules: { 'shop.example.com': { '/x/': 'young:80', '/y': 'young:80' } } }
  const conflict =
    'a/young: spec.rules[0].http.paths[0]: the older Ingress b/old has the prefix /x/ of shop.example.com already'

  function conflicts(cluster: IngressCluster): readonly string[] {
    return cluster.problems().filter((problem) => problem.includes('already'))
  }

  for (const order of [
    [old, young],
    [young, old],
  ]) {
    test(`the older is served and the younger has a problem, with ${order[0]?.key} first`, () => {
      const cluster = new IngressCluster()
      for (const each of order) cluster.put(each)
      assert.equal(answer(cluster, 'shop.example.com/x'), 'b/old b/old:80')
      assert.equal(answer(cluster, 'shop.example.com/x/z'), 'b/old b/old:80')
      assert.equal(answer(cluster, 'shop.example.com/y'), 'a/young a/young:80')
      assert.deepEqual(conflicts(cluster), [conflict])
      cluster.remove('b/old')
      assert.equal(answer(cluster, 'shop.example.com/x'), 'a/young a/young:80')
      assert.deepEqual(conflicts(cluster), [])
    })
  }

  test('and one age the key decides', () => {
    const cluster = new IngressCluster()
    cluster.put({ ...old, age: 30 }, young)
    assert.equal(answer(cluster, 'shop.example.com/x/z'), 'a/young a/young:80')
  })

  test('a thousand times over, fifty problems are named and the others counted', () => {
    const cluster = new IngressCluster()
    const parsed = ingressOf({ key: 'a/b', rules: { 'x.example.com': { '/x': 'one:80' } } })
    assert.ok(parsed.value !== undefined)
    const rules = parsed.value.rules.flatMap((rule) => Array.from({ length: 1000 }, () => rule))
    cluster.update({ ingresses: new Map([['a/b', { value: { ...parsed.value, rules }, problems: [] }]]) })
    assert.equal(cluster.problems().length, 51)
    // 999 duplicates, and the Service that does not exist.
    assert.equal(cluster.problems().at(-1), 'a/b: and 950 more problems')
  })

  test('in itself the first path is served', () => {
    const cluster = new IngressCluster()
    cluster.put({ key: 'a/b', rules: { 'x.example.com': { '/x': 'one:80', '/x/': 'two:80' } } })
    assert.equal(answer(cluster, 'x.example.com/x'), 'a/b a/one:80')
    assert.deepEqual(conflicts(cluster), [
      'a/b: spec.rules[0].http.paths[1]: spec.rules[0].http.paths[0] of this Ingress has the prefix /x/ of x.example.com already',
    ])
  })
})

describe('A default backend', () => {
  test('serves the other requests of its hosts, that of the oldest Ingress the hosts of none', () => {
    const cluster = new IngressCluster()
    cluster.put(
      { key: 'a/old', age: 9, defaultBackend: 'old:80' },
      { key: 'a/shop', age: 8, defaultBackend: 'shop:80', rules: { 'shop.example.com': { '/x': 'x:80' } } },
      { key: 'a/late', age: 7, defaultBackend: 'late:80', rules: { 'shop.example.com': { '/y': 'y:80' } } },
      { key: 'a/plain', age: 6, rules: { 'plain.example.com': { '/x': 'x:80' } } },
      { key: 'a/useless', age: 5, defaultBackend: 'useless:80' },
    )
    assert.equal(answer(cluster, 'shop.example.com/z'), 'a/shop a/shop:80')
    assert.equal(answer(cluster, 'plain.example.com/z'), 'a/old a/old:80')
    assert.equal(answer(cluster, 'none.example.com/'), 'a/old a/old:80')
    const conflicts = cluster.problems().filter((problem) => problem.includes('already'))
    assert.deepEqual(conflicts, [
      'a/late: spec.defaultBackend: the older Ingress a/shop has the default backend of shop.example.com already',
      'a/useless: spec.defaultBackend: the older Ingress a/old has the default backend of hosts without one already',
    ])
    cluster.remove('a/old')
    assert.equal(answer(cluster, 'none.example.com/'), 'a/shop a/shop:80')
  })

  test('takes all requests of a host without paths', () => {
    const cluster = new IngressCluster()
    const parsed = ingressOf({ key: 'a/b', defaultBackend: 'web:80' })
    assert.ok(parsed.value !== undefined)
    const value = { ...parsed.value, rules: [{ host: 'x.example.com', paths: [] }] }
    cluster.update({ ingresses: new Map([['a/b', { value, problems: [] }]]) })
    assert.equal(answer(cluster, 'x.example.com/z'), 'a/b a/web:80')
    assert.deepEqual([...cluster.step.table.hosts.keys()], ['', 'x.example.com'])
    cluster.remove('a/b')
    assert.deepEqual([...cluster.step.table.hosts.keys()], [])
  })
})

describe('A backend', () => {
  function backendOf(port: string, details: Parameters<IngressCluster['serve']>[2] = {}) {
    const cluster = new IngressCluster()
    cluster.serve('shop/web', ['10.0.0.1'], details)
    cluster.put({ key: 'shop/web', rules: { 'a.example.com': { '/': `web:${port}` } } })
    return { ...cluster.onlyBackend(), problems: cluster.problems() }
  }

  test('has the endpoints of a port by number and by name', () => {
    for (const port of ['80', 'http']) {
      const { problems, ...backend } = backendOf(port)
      assert.deepEqual(problems, [])
      assert.deepEqual(backend, {
        id: `shop_web_${port}`,
        service: 'shop/web',
        port,
        endpoints: [{ ip: '10.0.0.1', port: 8080 }],
        balance: 'round-robin',
        protocol: 'http1',
      })
    }
  })

  const ports = [makePort('http', 'TCP', 80), makePort('dns', 'UDP', 53)]
  const problemRows: readonly (readonly [title: string, port: string, details: object, expected: string])[] = [
    ['without its port', '81', { ports }, 'Service shop/web has no port 81, only 80 http, 53 dns'],
    ['without a port of its name', 'https', { ports }, 'Service shop/web has no port https, only 80 http, 53 dns'],
    ['without ports', '81', { ports: [] }, 'Service shop/web has no port 81, only none'],
    ['with a port of UDP', 'dns', { ports }, 'port dns of Service shop/web is UDP, not TCP'],
    [
      'that is another name',
      '80',
      { type: 'ExternalName', externalName: 'example.com' },
      'Service shop/web is of type ExternalName, whose name is not followed: it may lead out of the cluster',
    ],
  ]
  for (const [title, port, details, expected] of problemRows) {
    test(`of a Service ${title} has no endpoints and a problem`, () => {
      const { endpoints, problem, problems } = backendOf(port, details)
      assert.deepEqual([endpoints, problem, problems], [[], expected, [`shop/web: ${expected}`]])
    })
  }

  test('of no Service has a problem until the Service comes', () => {
    const cluster = new IngressCluster()
    cluster.put(shop)
    assert.deepEqual(cluster.problems(), ['shop/web: Service shop/web does not exist'])
    const step = cluster.serve('shop/web', ['10.0.0.1'])
    assert.deepEqual(cluster.problems(), [])
    assert.deepEqual(step.change, { hosts: new Set(), backends: new Set(['shop_web_80']), certificates: false })
    assert.equal(cluster.onlyBackend().endpoints.length, 1)
  })

  test('that cannot be read keeps its path, for an answer of 503', () => {
    const cluster = new IngressCluster()
    const parsed = ingressOf({ key: 'a/b', rules: { 'x.example.com': { '/': 'web:80', '/y': 'web:-' } } })
    cluster.update({ ingresses: new Map([['a/b', parsed]]) })
    const match = matchRequest(cluster.step.table, { host: 'x.example.com', path: '/y' })
    assert.ok(match.kind === 'route')
    assert.deepEqual([match.backend.endpoints, match.backend.problem], [[], 'the backend cannot be read'])
    assert.equal(cluster.problems().filter((problem) => problem.includes('paths[1]')).length, 1)
  })

  const going = { ready: false, serving: true, terminating: true }
  const endpointRows: readonly (readonly [title: string, details: readonly object[], expected: readonly number[]])[] = [
    ['that are ready', [{}, going, { ready: false, serving: false }], [1]],
    ['that are going but serve, where none is ready', [{ ready: false, serving: false }, going, going], [2, 3]],
    ['that are ready but not yet going, of none else', [{ ready: false, serving: true }], []],
  ]
  for (const [title, states, expected] of endpointRows) {
    test(`has the endpoints ${title}`, () => {
      const cluster = new IngressCluster()
      cluster.put(shop)
      const endpoints = states.map((state, index) => makeEndpoint(`10.0.0.${index + 1}`, state))
      cluster.serve('shop/web', endpoints.toReversed())
      assert.deepEqual(
        cluster.onlyBackend().endpoints.map(({ ip }) => ip),
        expected.map((last) => `10.0.0.${last}`),
      )
    })
  }

  test('has all endpoints of a Service that publishes those that are not ready', () => {
    const cluster = new IngressCluster()
    cluster.put(shop)
    cluster.serve('shop/web', [makeEndpoint('10.0.0.1', { ready: false })], { publishNotReadyAddresses: true })
    assert.equal(cluster.onlyBackend().endpoints.length, 1)
  })

  test('has the endpoints of other zones too, and those of a headless Service', () => {
    const cluster = new IngressCluster()
    cluster.put(shop)
    const far = makeEndpoint('10.0.0.2', { hints: { zones: ['far'], nodes: [] } })
    const slice = makeSlice('shop/web', [['http', 'TCP', 8080]], ['10.0.0.1', far])
    cluster.serve('shop/web', [], { headless: true, clusterIps: [] })
    const held = cluster.services.get('shop/web')
    assert.ok(held !== undefined)
    cluster.services.set('shop/web', { ...held, slices: [{ ...slice, namesOnly: true }] })
    cluster.update({ services: ['shop/web'] })
    assert.equal(cluster.onlyBackend().endpoints.length, 2)
  })

  test('has a pod of two families once, by the family of the cluster IP', () => {
    const cluster = new IngressCluster()
    cluster.put(shop)
    cluster.serve('shop/web', ['10.0.0.1'])
    const held = cluster.services.get('shop/web')
    assert.ok(held !== undefined)
    const six = makeSlice('shop/web', [['http', 'TCP', 8080]], ['fd00::1'], 'b')
    const seen = [[...held.slices, six], [six]].map((slices) => {
      cluster.services.set('shop/web', { ...held, slices })
      cluster.update({ services: ['shop/web'] })
      return cluster.onlyBackend().endpoints.map(({ ip }) => ip)
    })
    assert.deepEqual(seen, [['10.0.0.1'], ['fd00::1']])
  })

  const protocolRows: readonly (readonly [name: string, appProtocol: string | undefined, expected: string])[] = [
    ['http', undefined, 'http1'],
    ['http', 'http', 'http1'],
    ['http', 'kubernetes.io/h2c', 'h2c'],
    ['http', 'platform.internal/h2c', 'h2c'],
    ['http', 'grpc', 'h2c'],
    ['grpc', undefined, 'h2c'],
    ['grpc-admin', undefined, 'h2c'],
    ['grpcs', undefined, 'http1'],
    ['grpc', 'http', 'http1'],
  ]
  for (const [name, appProtocol, expected] of protocolRows) {
    test(`speaks ${expected} on a port ${name} of appProtocol ${appProtocol}`, () => {
      const port = { ...makePort(name, 'TCP', 80), ...(appProtocol !== undefined && { appProtocol }) }
      assert.equal(backendOf('80', { ports: [port] }).protocol, expected)
    })
  }

  for (const appProtocol of ['https', 'kubernetes.io/wss'])
    test(`has no endpoint and a problem where its port has appProtocol ${appProtocol}`, () => {
      const { endpoints, problem } = backendOf('80', { ports: [{ ...makePort('web', 'TCP', 80), appProtocol }] })
      assert.deepEqual(endpoints, [])
      assert.match(problem ?? '', new RegExp(`has appProtocol ${appProtocol}: TLS is not spoken to endpoints$`))
    })

  test('is one for each setting with which Ingresses use a port, with an id of at most 63 characters', () => {
    const { ingressBalance, ingressStickyCookie } = ingressDialect.annotations
    const long = 'a'.repeat(63)
    const cluster = new IngressCluster()
    const paths = { '/': 'web:80', '/n': 'web:http', [`/l`]: `${long}:80`, '/m': `${long}:81` }
    cluster.put(
      { key: 'shop/a', rules: { 'a.example.com': paths } },
      { key: 'shop/b', rules: { 'b.example.com': paths } },
      { key: 'shop/c', annotations: { [ingressBalance]: 'least-connections' }, rules: { 'c.example.com': paths } },
      { key: 'shop/d', annotations: { [ingressStickyCookie]: 'stay' }, rules: { 'd.example.com': paths } },
    )
    const { backends } = cluster.step.table
    assert.equal(backends.size, 12)
    for (const id of backends.keys()) assert.match(id, /^[a-z0-9_.-]{1,63}$/)
    assert.deepEqual([...backends.keys()], [...backends.keys()].sort())
    assert.equal(backends.get('shop_web_80')?.stickiness, undefined)
    assert.equal(
      backends
        .values()
        .filter(({ stickiness }) => stickiness?.cookie === 'stay')
        .toArray().length,
      4,
    )
    assert.equal(
      backends
        .values()
        .filter(({ balance }) => balance === 'least-connections')
        .toArray().length,
      4,
    )
  })
})

describe('A step', () => {
  test('says what differs, and nothing where nothing does', () => {
    const cluster = new IngressCluster()
    const first = cluster.put(shop, { key: 'a/b', rules: { 'b.example.com': { '/': 'web:80' } } })
    assert.deepEqual(first.change.hosts, new Set(['shop.example.com', 'b.example.com']))
    assert.deepEqual(first.change.backends, new Set(['shop_web_80', 'a_web_80']))
    const same = cluster.put(shop)
    assert.deepEqual(same.change, { hosts: new Set(), backends: new Set(), certificates: false })
    assert.equal(same.table.hosts, first.table.hosts)
    const moved = cluster.put({ ...shop, rules: { 'new.example.com': { '/': 'web:80' } } })
    assert.deepEqual(moved.change.hosts, new Set(['shop.example.com', 'new.example.com']))
    assert.deepEqual(moved.change.backends, new Set())
    const gone = cluster.remove('a/b')
    assert.deepEqual([gone.change.hosts, gone.change.backends], [new Set(['b.example.com']), new Set(['a_web_80'])])
  })

  test('leaves the tables of earlier steps as they were', () => {
    const cluster = new IngressCluster()
    const { table } = cluster.put(shop)
    cluster.serve('shop/web', ['10.0.0.1'])
    cluster.remove('shop/web')
    assert.deepEqual([...table.hosts.keys()], ['shop.example.com'])
    assert.deepEqual(table.backends.get('shop_web_80')?.endpoints, [])
  })

  test('asks for the Services that it concerns alone', () => {
    const cluster = new IngressCluster()
    const sketch = (index: number, path = '/') => ({
      key: `shop/i${index}`,
      rules: {
        'shop.example.com': { [`${path}${index}`]: `s${index}:80` },
        [`s${index}.example.com`]: { '/': 's0:80' },
      },
    })
    const asked: string[] = []
    const get = cluster.services.get.bind(cluster.services)
    cluster.services.get = (key) => {
      asked.push(key)
      return get(key)
    }
    cluster.put(...Array.from({ length: 100 }, (_, index) => sketch(index)))
    assert.equal(asked.length, 100)
    const steps = [
      () => cluster.serve('shop/s7', ['10.0.0.1']),
      () => cluster.put(sketch(8, '/other')),
      () => cluster.put({ ...sketch(9), rules: { 'shop.example.com': { '/new': 'new:80' } } }),
    ]
    const concerned = steps.map((step) => {
      asked.length = 0
      step()
      return [...new Set(asked)]
    })
    assert.deepEqual(concerned, [['shop/s7'], [], ['shop/new']])
  })

  test('touches no backend of another Service', () => {
    const cluster = new IngressCluster()
    cluster.put(shop)
    assert.deepEqual(cluster.serve('shop/other', ['10.0.0.1']).change.backends, new Set())
  })
})
