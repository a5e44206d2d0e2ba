import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { explainUrl, parseAskedUrl } from '../../../../src/node/ingress/explain-url.ts'
import { IngressCluster, ingressDialect } from '../../../helpers/ingress-cluster.ts'
import { makeEndpoint } from '../../../helpers/services.ts'

function explain(cluster: IngressCluster, text: string, waitsFor?: string) {
  const url = parseAskedUrl(text)
  assert.ok(url !== undefined)
  const { plan, step, services, nowMs } = cluster
  return explainUrl(
    {
      table: step.table,
      problems: step.problems,
      ingresses: () => plan.ingresses(),
      classOf: (ingress) => plan.classOf(ingress),
      services: {
        service: (key) => services.get(key)?.service,
        slicesOf: (key) => services.get(key)?.slices ?? [],
      },
      waitsFor,
      nowMs,
    },
    url,
  )
}

describe('A URL to explain', () => {
  const rows: readonly (readonly [text: string, expected: readonly string[] | undefined])[] = [
    ['http://Shop.example.com', ['http', 'shop.example.com', '/']],
    ['HTTPS://shop.example.com.:8443/a/../b//%2F?x=1#y', ['https', 'shop.example.com', '/a/../b//%2F']],
    ['http://[fd00::1]:80/x', ['http', '[fd00::1]', '/x']],
    ['http://shop.example.com?x', ['http', 'shop.example.com', '/']],
    ['http://user@shop.example.com/', undefined],
    ['http://shop.example.com/a b', undefined],
    ['http://shop.example.com/\n', undefined],
    ['http:///x', undefined],
    ['ftp://shop.example.com/', undefined],
    ['shop.example.com/x', undefined],
  ]
  for (const [text, expected] of rows) {
    test(`${JSON.stringify(text)} is ${expected === undefined ? 'refused' : 'kept as it is sent'}`, () => {
      const url = parseAskedUrl(text)
      assert.deepEqual(url && [url.scheme, url.host, url.path], expected)
    })
  }
})

describe('The explanation of a request', () => {
  test('says that nothing listens before an IngressClass names the controller', () => {
    const { lines, status } = explain(new IngressCluster(), 'http://shop.example.com/', 'platform.internal/ingress')
    assert.equal(status, undefined)
    assert.deepEqual(lines, [
      'http://shop.example.com/ is not answered: nothing listens here until an IngressClass has the controller platform.internal/ingress.',
    ])
  })

  test('names Ingress, path, Service, endpoints and settings', () => {
    const cluster = new IngressCluster()
    const { ingressBalance, ingressStickyCookie } = ingressDialect.annotations
    const going = makeEndpoint('10.0.0.2', { ready: false, terminating: true })
    cluster.serve('shop/web', [makeEndpoint('10.0.0.1', { nodeName: 'n1', target: 'Pod shop/web-1' }), going])
    cluster.put({
      key: 'shop/in',
      annotations: { [ingressBalance]: 'least-connections', [ingressStickyCookie]: 'stay' },
      rules: { 'shop.example.com': { '/pay': 'web:http' } },
    })
    const { lines, others, ...data } = explain(cluster, 'http://shop.example.com/pay/card')
    assert.deepEqual(lines, [
      'http://shop.example.com/pay/card goes to port http of Service shop/web by the prefix /pay of shop.example.com, of Ingress shop/in (HTTP/1.1, least-connections, cookie stay).',
      '  endpoint 10.0.0.1:8080 (Pod shop/web-1 on n1)',
    ])
    assert.deepEqual(others, [])
    assert.deepEqual(data, {
      url: { scheme: 'http', host: 'shop.example.com', path: '/pay/card' },
      route: { ingress: 'shop/in', host: 'shop.example.com', path: '/pay', kind: 'prefix', problems: [] },
      backend: {
        service: 'shop/web',
        port: 'http',
        balance: 'least-connections',
        protocol: 'http1',
        cookie: 'stay',
        endpoints: [{ address: '10.0.0.1:8080', target: 'Pod shop/web-1', node: 'n1' }],
      },
    })
  })

  const backendRows: readonly (readonly [title: string, make: (cluster: IngressCluster) => void, expected: RegExp])[] =
    [
      ['without its Service', () => {}, /^ {2}Service shop\/web does not exist\.$/m],
      ['without slices', (cluster) => cluster.serve('shop/web', []), /^ {2}no EndpointSlice belongs to it/m],
      [
        'without a ready endpoint',
        (cluster) => cluster.serve('shop/web', [makeEndpoint('10.0.0.1', { ready: false, serving: false })]),
        /^ {2}none of its endpoints is ready/m,
      ],
      [
        'without its port',
        (cluster) => cluster.serve('shop/web', ['10.0.0.1'], { ports: [] }),
        /^ {2}Service shop\/web has no port 80, only none\.$/m,
      ],
    ]
  for (const [title, make, expected] of backendRows) {
    test(`of a backend ${title} says 503 and why`, () => {
      const cluster = new IngressCluster()
      cluster.put({ key: 'shop/in', rules: { 'shop.example.com': { '/': 'web:80' } } })
      make(cluster)
      const { status, lines } = explain(cluster, 'http://shop.example.com/')
      assert.equal(status, 503)
      assert.match(
        lines[0] ?? '',
        /gets 503 by the prefix \/ of shop.example.com, of Ingress shop\/in: port 80 of Service shop\/web has no endpoint\.$/,
      )
      assert.match(lines.join('\n'), expected)
    })
  }

  test('says why others of the host do not answer, the most interesting first', () => {
    const cluster = new IngressCluster()
    cluster.put(
      { key: 'a/old', age: 9, rules: { 'shop.example.com': { '/pay': 'web:80', '/cart': 'web:80', '/': 'web:80' } } },
      { key: 'a/young', age: 8, rules: { 'shop.example.com': { '/pay/': 'new:80' } } },
      { key: 'b/wild', age: 7, rules: { '*.example.com': { '/pay/card': 'web:80', '/no': 'web:80' } } },
      { key: 'b/any', age: 6, rules: { '': { '/': 'web:80' } }, defaultBackend: 'web:80' },
      {
        key: 'c/foreign',
        age: 5,
        className: 'other',
        rules: { 'shop.example.com': { '/pay': 'web:80', '/no': 'x:80' } },
      },
      { key: 'c/gone', age: 4, className: 'gone', rules: { 'shop.example.com': { '/pay': 'web:80' } } },
      { key: 'c/none', age: 3, className: null, rules: { 'shop.example.com': { '/pay': 'web:80' } } },
      { key: 'd/else', age: 2, rules: { 'else.example.com': { '/pay': 'web:80' } } },
    )
    const { route, others, lines } = explain(cluster, 'http://shop.example.com/pay/card')
    assert.deepEqual([route?.ingress, route?.path], ['a/old', '/pay'])
    assert.deepEqual(
      others.map(({ ingress, code, reason }) => `${ingress} ${code}: ${reason}`),
      [
        'a/young older-ingress: Ingress a/old has the prefix /pay/ of shop.example.com already',
        'c/foreign foreign-class: its class other is that of another controller, example.com/other',
        'c/gone foreign-class: its class gone does not exist',
        'c/none foreign-class: it has no class, and there was no default class when it was created',
        'b/wild more-specific-host: the prefix /pay/card of *.example.com stands behind the rules of the more specific host shop.example.com',
        'b/any more-specific-host: the prefix / of any host stands behind the rules of the more specific host shop.example.com',
        'a/old more-specific-path: the prefix /pay of shop.example.com goes before the prefix / of shop.example.com',
        'a/old other-path: the prefix /cart of shop.example.com does not match',
      ],
    )
    assert.ok(lines.includes('  Ingress c/gone does not answer: its class gone does not exist.'))
    assert.ok(lines.includes('  Ingress a/old has a problem: Service a/web does not exist.'))
  })

  test('of a request that nothing matches says 404 and what was near', () => {
    const cluster = new IngressCluster()
    cluster.put(
      { key: 'a/in', rules: { 'shop.example.com': { '=/pay': 'web:80' } } },
      { key: 'a/wild', rules: { '*.example.com': { '/': 'web:80' } } },
      { key: 'a/foreign', className: 'other', defaultBackend: 'web:80' },
    )
    const { status, others, lines } = explain(cluster, 'http://shop.example.com/pay/')
    assert.equal(status, 404)
    assert.equal(
      lines[0],
      'http://shop.example.com/pay/ gets 404: no path and no default backend of an Ingress matches it.',
    )
    assert.deepEqual(
      others.map(({ ingress, code }) => `${ingress} ${code}`),
      ['a/foreign foreign-class', 'a/wild more-specific-host', 'a/in other-path'],
    )
  })

  test('of a default backend names the one that answers, and the younger that does not', () => {
    const cluster = new IngressCluster()
    cluster.put(
      { key: 'a/old', age: 9, defaultBackend: 'old:80' },
      { key: 'a/young', age: 8, defaultBackend: 'young:80' },
    )
    const { route, others, lines } = explain(cluster, 'http://x.example.com/')
    assert.deepEqual([route?.ingress, route?.kind], ['a/old', 'default'])
    assert.match(lines[0] ?? '', /by the default backend of hosts without one, of Ingress a\/old/)
    assert.deepEqual(
      others.map(({ ingress, reason }) => `${ingress}: ${reason}`),
      ['a/young: Ingress a/old has the default backend of hosts without one already'],
    )
  })

  test('of https names the certificates that are shown, with their days', () => {
    const dayMs = 86_400_000
    const secret = (key: string, days: number) => {
      const dates = { notBeforeMs: 0, notAfterMs: Date.UTC(2026, 5, 1) + days * dayMs }
      const value = {
        key,
        fingerprint: key,
        chainPem: 'chain',
        keyPem: 'key',
        keyKind: 'RSA' as const,
        names: [],
        ...dates,
      }
      return { value, problems: [] }
    }
    const cluster = new IngressCluster({ selfSigned: secret('', 30).value })
    cluster.put(
      { key: 'a/in', tls: [{ hosts: ['shop.example.com'], secretName: 'exact' }] },
      { key: 'a/wild', tls: [{ hosts: ['*.example.com'], secretName: 'wild' }] },
    )
    cluster.giveSecrets({ 'a/exact': secret('a/exact', 7.5), 'a/wild': secret('a/wild', 3) })
    const shown = ['shop.example.com', 'cart.example.com', 'a.b.example.com'].map((host) => {
      const { certificates, lines } = explain(cluster, `https://${host}/`)
      assert.doesNotMatch(JSON.stringify(certificates), /chain|"key"/)
      return lines.find((line) => line.includes('TLS'))
    })
    assert.deepEqual(shown, [
      '  TLS shows the certificate of Secret a/exact (valid for 7 more days).',
      '  TLS shows the certificate of Secret a/wild (valid for 3 more days).',
      '  TLS shows a self-signed certificate (valid for 30 more days), the default: no Ingress has a valid one for a.b.example.com.',
    ])
    assert.match(explain(new IngressCluster(), 'https://x.example.com/').lines.join(), /TLS fails/)
    assert.equal(explain(cluster, 'http://shop.example.com/').certificates, undefined)
  })

  test('of a host with many Ingresses names twelve that do not answer', () => {
    const cluster = new IngressCluster()
    const paths = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`/p${index}`, 'web:80']))
    cluster.put({ key: 'a/in', rules: { 'shop.example.com': paths } })
    const { others, lines } = explain(cluster, 'http://shop.example.com/')
    assert.equal(others.length, 20)
    assert.equal(lines.filter((line) => line.includes('does not answer')).length, 12)
    assert.equal(lines.at(-1), '  And 8 more do not answer.')
  })
})
