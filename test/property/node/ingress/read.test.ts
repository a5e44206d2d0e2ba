import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createDialect } from '../../../../src/model/dialect.ts'
import type { Ingress } from '../../../../src/model/ingress.ts'
import { claimsOf } from '../../../../src/node/ingress/plan-claims.ts'
import { readIngress } from '../../../../src/node/ingress/read-ingress.ts'
import { readIngressClass } from '../../../../src/node/ingress/read-ingress-class.ts'
import { readTlsSecret } from '../../../../src/node/ingress/read-tls-secret.ts'
import { countValues, damageValue } from '../../../helpers/damaged-values.ts'

const dialect = createDialect('platform')
const metadata = { namespace: 'shop', name: 'web' }
const backend = (name: string) => ({ service: { name, port: { number: 80 } } })
const spec = {
  ingressClassName: 'edge',
  defaultBackend: backend('other'),
  tls: [
    { hosts: ['a.example.com', '*.example.com'], secretName: 'cert' },
    { hosts: ['b.example.com'], secretName: 'more' },
  ],
  rules: [
    {
      host: 'a.example.com',
      http: {
        paths: [
          { path: '/x', pathType: 'Prefix', backend: backend('x') },
          { path: '/y', pathType: 'Exact', backend: { service: { name: 'y', port: { name: 'http' } } } },
        ],
      },
    },
    {
      host: '*.example.com',
      http: { paths: [{ path: '/', pathType: 'ImplementationSpecific', backend: backend('z') }] },
    },
  ],
}

/** Each route with its Service as a line, and each name of a certificate; `503` for a route without Service. */
function grants(ingress: Ingress): readonly string[] {
  return [
    ...claimsOf(ingress).map(
      ({ host, place, backend: { id, why } }) => `${host} ${place} ${why === undefined ? id : 503}`,
    ),
    ...ingress.rules.map(({ host }) => `host ${host}`),
    ...ingress.tls.flatMap(({ hosts, secret }) => hosts.map((host) => `tls ${host} ${secret}`)),
    ...ingress.tls.flatMap(({ hosts, secret }) => (hosts.length === 0 ? [`tls names of ${secret}`] : [])),
  ]
}

describe('The readers of Ingresses, classes and Secrets', () => {
  test('take any JSON without an exception, and say what they cannot read', () => {
    const anyObject = fc.oneof(
      fc.jsonValue(),
      fc.record({ metadata: fc.constant(metadata), spec: fc.jsonValue(), data: fc.jsonValue() }),
    )
    fc.assert(
      fc.property(anyObject, (json) => {
        for (const read of [(each: unknown) => readIngress(each, dialect), readIngressClass, readTlsSecret]) {
          const { value, problems } = read(json)
          assert.ok(value !== undefined || problems.length > 0)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('make of a damaged Ingress a problem, and no route or certificate that the whole one has not', () => {
    // None of them can stand anywhere in an Ingress.
    const anyDamage = fc.constantFrom<unknown>(true, -1, 'a b', [true], [[]])
    const whole = readIngress({ metadata, spec }, dialect)
    assert.deepEqual(whole.problems, [])
    assert.ok(whole.value !== undefined)
    const allowed = grants(whole.value)
    fc.assert(
      fc.property(fc.nat(countValues(spec) - 1), anyDamage, (number, damage) => {
        const { value, problems } = readIngress({ metadata, spec: damageValue(spec, number, damage) }, dialect)
        assert.ok(value !== undefined && problems.length > 0)
        for (const grant of grants(value)) {
          const isAllowed = allowed.some((each) => each === grant || grant === `${each.replace(/ \S+$/, '')} 503`)
          assert.ok(isAllowed || grant.endsWith(' undefined'), grant)
        }
      }),
      { numRuns: 500 },
    )
  })
})
