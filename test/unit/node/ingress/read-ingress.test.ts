import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createDialect } from '../../../../src/model/dialect.ts'
import { coversHost } from '../../../../src/node/ingress/host-pattern.ts'
import { readIngress } from '../../../../src/node/ingress/read-ingress.ts'
import { readIngressClass } from '../../../../src/node/ingress/read-ingress-class.ts'
import { formatProblem } from '../../../../src/node/state/index.ts'

const platform = createDialect('platform')
const kubernetes = createDialect('kubernetes', 'example.net')

function read(spec: unknown, annotations: unknown = {}, dialect = platform) {
  const metadata = { namespace: 'shop', name: 'web', uid: 'u1', creationTimestamp: '2026-01-02T03:04:05Z', annotations }
  const { value, problems } = readIngress({ metadata, spec }, dialect)
  assert.ok(value !== undefined)
  return { ingress: value, problems: problems.map(formatProblem) }
}

const wireBackend = { service: { name: 'web', port: { number: 80 } } }
const backend = { kind: 'service', service: 'web', port: '80' }
const onePath = (path: unknown) => ({ rules: [{ host: 'a.example.com', http: { paths: [path] } }] })

describe('An Ingress', () => {
  test('is read with all its parts', () => {
    const { ingress, problems } = read({
      ingressClassName: 'edge',
      defaultBackend: { service: { name: 'other', port: { name: 'http' } } },
      tls: [
        { hosts: ['Shop.example.com', '*.example.com'], secretName: 'cert' },
        { secretName: 'names' },
        { hosts: [] },
      ],
      rules: [
        {
          host: 'Shop.example.com',
          http: {
            paths: [
              { path: '/pay', pathType: 'Exact', backend: wireBackend },
              { path: '/cart/', pathType: 'Prefix', backend: wireBackend },
              { pathType: 'ImplementationSpecific', backend: wireBackend },
            ],
          },
        },
        { host: '*.example.com' },
        { http: { paths: [{ path: '/', pathType: 'Prefix', backend: wireBackend }] } },
      ],
    })
    assert.deepEqual(problems, [])
    assert.deepEqual(ingress, {
      key: 'shop/web',
      namespace: 'shop',
      name: 'web',
      uid: 'u1',
      createdAtMs: Date.UTC(2026, 0, 2, 3, 4, 5),
      className: 'edge',
      defaultBackend: { kind: 'service', service: 'other', port: 'http' },
      rules: [
        {
          host: 'shop.example.com',
          paths: [
            { path: '/pay', kind: 'exact', backend, field: 'spec.rules[0].http.paths[0]' },
            { path: '/cart/', kind: 'prefix', backend, field: 'spec.rules[0].http.paths[1]' },
            { path: '/', kind: 'prefix', backend, field: 'spec.rules[0].http.paths[2]' },
          ],
        },
        { host: '*.example.com', paths: [] },
        { host: '', paths: [{ path: '/', kind: 'prefix', backend, field: 'spec.rules[2].http.paths[0]' }] },
      ],
      tls: [
        { hosts: ['shop.example.com', '*.example.com'], secret: 'shop/cert', field: 'spec.tls[0]' },
        { hosts: [], secret: 'shop/names', field: 'spec.tls[1]' },
        { hosts: [], field: 'spec.tls[2]' },
      ],
      settings: { balance: 'round-robin' },
    })
  })

  test('has its class from the field, else from the annotation of its dialect', () => {
    const old = { [platform.annotations.ingressClass]: 'old' }
    assert.equal(read({ ingressClassName: 'new' }, old).ingress.className, 'new')
    assert.equal(read({}, old).ingress.className, 'old')
    assert.equal(read({}, old, kubernetes).ingress.className, undefined)
    assert.equal(read({}, { 'kubernetes.io/ingress.class': 'old' }, kubernetes).ingress.className, 'old')
    assert.equal(read({ ingressClassName: 7 }, old).ingress.className, undefined)
  })

  test('has its settings from annotations of our domain in both dialects', () => {
    for (const dialect of [platform, kubernetes]) {
      const prefix = `ingress.${dialect.domain}`
      const annotations = { [`${prefix}/balance`]: 'least-connections', [`${prefix}/sticky-cookie`]: 'stay' }
      const { ingress, problems } = read({}, annotations, dialect)
      assert.deepEqual(ingress.settings, { balance: 'least-connections', stickiness: { cookie: 'stay' } })
      assert.deepEqual(problems, [])
    }
  })

  test('with settings that are not known is a problem and has the defaults', () => {
    const prefix = `ingress.${platform.domain}`
    const annotations = {
      [`${prefix}/balance`]: 'random',
      [`${prefix}/sticky-cookie`]: 'a; b',
      [`${prefix}/balanse`]: 'x',
    }
    const { ingress, problems } = read({}, annotations)
    assert.deepEqual(ingress.settings, { balance: 'round-robin' })
    assert.equal(problems.length, 3)
    assert.match(problems.join('\n'), /balance\]: expected round-robin or least-connections, found "random"/)
    assert.match(problems.join('\n'), /sticky-cookie\]: expected the name of a cookie .*, found "a; b"/)
    assert.match(
      problems.join('\n'),
      /metadata\.annotations: expected only .*, found "ingress\.platform\.internal\/balanse"/,
    )
  })

  test('without identity gives no value', () => {
    for (const json of [undefined, [], { metadata: { name: 'a' } }, { metadata: { name: 'A', namespace: 'x' } }]) {
      const { value, problems } = readIngress(json, platform)
      assert.equal(value, undefined)
      assert.ok(problems.length > 0)
    }
  })

  test('without a time that can be read is the youngest', () => {
    const { value } = readIngress({ metadata: { namespace: 'a', name: 'b', creationTimestamp: 'soon' } }, platform)
    assert.deepEqual(value, {
      key: 'a/b',
      namespace: 'a',
      name: 'b',
      rules: [],
      tls: [],
      settings: { balance: 'round-robin' },
    })
  })
})

describe('A part of an Ingress that cannot be read is a problem, and nothing else is lost', () => {
  const good = { host: 'good.example.com' }
  const rows: readonly (readonly [title: string, rule: unknown, field: string])[] = [
    ['a rule that is none', 'x', 'spec.rules[0]'],
    ['an address as host', { host: '192.0.2.1' }, 'spec.rules[0].host'],
    ['an address of four numbers as host', { host: '010.1.1.1' }, 'spec.rules[0].host'],
    ['a host with a port', { host: 'a.example.com:80' }, 'spec.rules[0].host'],
    ['a wildcard inside', { host: 'a.*.example.com' }, 'spec.rules[0].host'],
    ['a wildcard alone', { host: '*' }, 'spec.rules[0].host'],
    ['a host with a line end', { host: 'a.example.com\n' }, 'spec.rules[0].host'],
    ['a host that is a number', { host: 7 }, 'spec.rules[0].host'],
  ]
  for (const [title, rule, field] of rows) {
    test(title, () => {
      const { ingress, problems } = read({ rules: [rule, good] })
      assert.deepEqual(ingress.rules, [{ host: 'good.example.com', paths: [] }])
      assert.equal(problems.length, 1)
      assert.ok(problems.join().includes(`: ${field}: expected`), problems.join())
    })
  }

  const path = { path: '/x', pathType: 'Prefix', backend: wireBackend }
  const lostPaths: readonly (readonly [title: string, path: unknown, field: string])[] = [
    ['a path without its slash', { ...path, path: 'x' }, 'path'],
    ['a path with a blank', { ...path, path: '/a b' }, 'path'],
    ['a path with a line end', { ...path, path: '/a\nb' }, 'path'],
    ['a path with a query', { ...path, path: '/a?b' }, 'path'],
    ['a path with a fragment', { ...path, path: '/a#b' }, 'path'],
    ['a path with a letter that clients encode', { ...path, path: '/ü' }, 'path'],
    ['a path without end', { ...path, path: `/${'a'.repeat(1024)}` }, 'path'],
    ['a path that is absent', { pathType: 'Prefix', backend: wireBackend }, 'path'],
    ['an unknown type of path', { ...path, pathType: 'Regex' }, 'pathType'],
    ['no type of path', { path: '/x', backend: wireBackend }, 'pathType'],
  ]
  for (const [title, json, field] of lostPaths) {
    test(title, () => {
      const { ingress, problems } = read({ rules: [{ host: 'a.example.com', http: { paths: [json, path] } }] })
      assert.deepEqual(
        ingress.rules[0]?.paths.map((each) => each.field),
        ['spec.rules[0].http.paths[1]'],
      )
      assert.equal(problems.length, 1)
      assert.ok(problems.join().includes(`: spec.rules[0].http.paths[0].${field}: expected`), problems.join())
    })
  }

  const port = (json: unknown) => ({ service: { name: 'web', port: json } })
  const lostBackends: readonly (readonly [title: string, backend: unknown, field: string, why?: string])[] = [
    ['no backend', undefined, ''],
    ['a backend that is a text', 'web', ''],
    [
      'a resource as backend',
      { resource: { kind: 'Bucket', name: 'b' } },
      '.resource',
      'is a resource, which is not served',
    ],
    ['an empty backend', {}, '.service'],
    ['a Service without name', { service: { port: { number: 80 } } }, '.service.name'],
    ['a Service of another name', { service: { name: 'a/b', port: { number: 80 } } }, '.service.name'],
    ['a Service without port', { service: { name: 'web' } }, '.service.port'],
    ['a port with number and name', port({ number: 80, name: 'http' }), '.service.port'],
    ['a port with neither', port({ number: 0, name: '' }), '.service.port'],
    ['a port that is too large', port({ number: 65_536 }), '.service.port.number'],
    ['a port that is a text', port({ number: '80' }), '.service.port.number'],
    ['a port name without a letter', port({ name: '80' }), '.service.port.name'],
  ]
  for (const [title, json, field, why = 'cannot be read'] of lostBackends) {
    test(`${title}: its path stays, for an answer that says so`, () => {
      const { ingress, problems } = read(onePath({ ...path, backend: json }))
      const found = ingress.rules[0]?.paths[0]?.backend
      assert.deepEqual(found, { kind: 'none', why })
      assert.equal(problems.length, 1)
      assert.ok(problems.join().includes(`: spec.rules[0].http.paths[0].backend${field}: expected`), problems.join())
    })
  }

  test('hosts of TLS: an entry of which none can be read does not become one for all names', () => {
    const { ingress, problems } = read({ tls: [{ hosts: ['a b', 7], secretName: 'x' }, { hosts: ['A.b', '*'] }, 'x'] })
    assert.deepEqual(ingress.tls, [{ hosts: ['a.b'], field: 'spec.tls[1]' }])
    assert.equal(problems.length, 4)
  })

  test('a spec that is no object', () => {
    const { ingress, problems } = read('x')
    assert.deepEqual([ingress.rules, ingress.tls], [[], []])
    assert.equal(problems.length, 1)
  })
})

describe('A name of a certificate', () => {
  const cases: readonly (readonly [name: string, host: string, covers: boolean])[] = [
    ['a.example.com', 'a.example.com', true],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', '*.example.com', true],
    ['*.example.com', 'a.b.example.com', false],
    ['*.example.com', 'example.com', false],
    ['*.com', '*.example.com', false],
    ['a.example.com', 'b.example.com', false],
  ]
  for (const [name, host, covers] of cases)
    test(`${name} ${covers ? 'covers' : 'does not cover'} ${host}`, () => assert.equal(coversHost(name, host), covers))
})

describe('An IngressClass', () => {
  test('has a name and a controller', () => {
    const { value } = readIngressClass({
      metadata: { name: 'edge' },
      spec: { controller: 'platform.internal/ingress' },
    })
    assert.deepEqual(value, { name: 'edge', controller: 'platform.internal/ingress' })
  })

  test('without a controller that can be read has no value', () => {
    for (const spec of [undefined, {}, { controller: 7 }, { controller: 'ingress' }, { controller: 'a.b/c\n' }]) {
      const { value, problems } = readIngressClass({ metadata: { name: 'edge' }, spec })
      assert.equal(value, undefined)
      assert.match(problems.map(formatProblem).join(), /^IngressClass edge: spec/)
    }
  })
})
