import fc from 'fast-check'
import type { IngressSketch } from './ingress-cluster.ts'
import { makeEndpoint } from './services.ts'

export const anyHost = fc.constantFrom('', 'a.x.example', 'b.x.example', '*.x.example', 'y.example')
const anyPath = fc.constantFrom('/', '/a', '/a/', '/a/b', '/ab', '=/', '=/a', '=/a/', '=/a/b')
const anyBackend = fc.constantFrom('s0:80', 's0:http', 's1:80', 's1:81', 's2:http', 's2:-')
const anyKey = fc.constantFrom('n/i0', 'n/i1', 'n/i2', 'm/i3', 'm/i4')
const anySecret = fc.constantFrom('c0', 'c1')

/** An Ingress of a handful, in any of its states; few enough hosts, paths and Services that they meet. */
const anyIngress: fc.Arbitrary<IngressSketch> = fc.record(
  {
    key: anyKey,
    age: fc.nat(2),
    className: fc.constantFrom('edge', 'edge', 'late', 'other', null),
    rules: fc.dictionary(anyHost, fc.dictionary(anyPath, anyBackend, { maxKeys: 3 }), { maxKeys: 3 }),
    defaultBackend: anyBackend,
    tls: fc.array(
      fc.record(
        {
          hosts: fc.uniqueArray(
            anyHost.filter((host) => host !== ''),
            { maxLength: 2 },
          ),
          secretName: anySecret,
        },
        { requiredKeys: ['secretName'] },
      ),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: ['key', 'age', 'rules'] },
)

const anyEndpoints = fc
  .uniqueArray(fc.nat(3), { maxLength: 3 })
  .map((hosts) =>
    hosts.map((host) => makeEndpoint(`10.0.0.${host + 1}`, { ready: host % 2 === 0, terminating: host % 2 === 1 })),
  )

export type IngressEvent =
  | { readonly kind: 'ingress'; readonly sketch: IngressSketch }
  | { readonly kind: 'gone'; readonly key: string }
  | { readonly kind: 'class'; readonly controller: string | undefined }
  | { readonly kind: 'service'; readonly key: string; readonly endpoints: readonly ReturnType<typeof makeEndpoint>[] }
  | { readonly kind: 'no-service'; readonly key: string }
  | { readonly kind: 'secret'; readonly key: string; readonly version: number }
  | { readonly kind: 'clock'; readonly hours: number }

const anyService = fc.tuple(fc.constantFrom('n', 'm'), fc.nat(2)).map(([namespace, n]) => `${namespace}/s${n}`)

/** Events of a watch, one after the other. */
export const anyIngressEvents: fc.Arbitrary<readonly IngressEvent[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('ingress' as const), sketch: anyIngress }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('gone' as const), key: anyKey }) },
    fc.record({
      kind: fc.constant('class' as const),
      controller: fc.constantFrom('platform.internal/ingress', 'example.com/x', undefined),
    }),
    fc.record({ kind: fc.constant('service' as const), key: anyService, endpoints: anyEndpoints }),
    fc.record({ kind: fc.constant('no-service' as const), key: anyService }),
    fc.record({
      kind: fc.constant('secret' as const),
      key: fc.tuple(fc.constantFrom('n', 'm'), anySecret).map((parts) => parts.join('/')),
      version: fc.nat(3),
    }),
    fc.record({ kind: fc.constant('clock' as const), hours: fc.integer({ min: 1, max: 3 }) }),
  ),
  { maxLength: 25 },
)
