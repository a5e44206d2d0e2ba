import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parseProtobufBody } from '../../../../src/api/decode/protobuf.ts'
import { toProtobuf } from '../../../../src/api/encode/protobuf.ts'
import { StatusError } from '../../../../src/api/status.ts'
import type { JsonObject } from '../../../../src/model/api-object.ts'
import { bytesField, envelope, numberField, varint } from '../../../helpers/protobuf-writer.ts'

const join = (...parts: Uint8Array[]) => Buffer.concat(parts)
const entry = (key: string, value: string) => join(bytesField(1, key), bytesField(2, value))
const named = (name: string) => bytesField(1, join(bytesField(1, name), bytesField(2, ''), bytesField(3, '')))

describe('a protobuf body', () => {
  test('of a ConfigMap has its maps, its bytes as base64, and keys that JavaScript objects know already', () => {
    const message = join(
      named('settings'),
      bytesField(2, entry('colour', 'blue')),
      bytesField(2, entry('__proto__', 'kept')),
      bytesField(3, entry('logo', 'abc')),
      numberField(4, 0n),
    )
    assert.equal(
      JSON.stringify(parseProtobufBody(envelope('v1', 'ConfigMap', message))),
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings"},"immutable":false,' +
        '"data":{"colour":"blue","__proto__":"kept"},"binaryData":{"logo":"YWJj"}}',
    )
  })

  test('of a Service has ports by name and number, and no zero values that mean nothing', () => {
    const port = (target: Uint8Array) =>
      bytesField(
        1,
        join(bytesField(1, ''), bytesField(2, 'TCP'), numberField(3, 80n), bytesField(4, target), numberField(5, 0n)),
      )
    const byNumber = join(numberField(1, 0n), numberField(2, 8080n), bytesField(3, ''))
    const byName = join(numberField(1, 1n), numberField(2, 0n), bytesField(3, 'http'))
    const spec = join(port(byNumber), port(byName), bytesField(3, ''), bytesField(4, ''), numberField(13, 0n))
    const body = parseProtobufBody(envelope('v1', 'Service', join(named('web'), bytesField(2, spec))))
    assert.deepEqual(body, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: {
        ports: [
          { protocol: 'TCP', port: 80, targetPort: 8080 },
          { protocol: 'TCP', port: 80, targetPort: 'http' },
        ],
      },
    })
  })

  test('of a Lease has times with microseconds, and a time never set is absent', () => {
    const time = join(numberField(1, 1_700_000_000n), numberField(2, 123_456_789n))
    const spec = join(bytesField(1, 'node-a'), numberField(2, 40n), bytesField(4, time))
    const metadata = bytesField(1, join(bytesField(1, 'node-a'), bytesField(8, '')))
    assert.deepEqual(
      parseProtobufBody(envelope('coordination.k8s.io/v1', 'Lease', join(metadata, bytesField(2, spec)))),
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'node-a' },
        spec: { holderIdentity: 'node-a', leaseDurationSeconds: 40, renewTime: '2023-11-14T22:13:20.123456Z' },
      },
    )
  })

  test('of a Pod has the fields of embedded messages in their place', () => {
    const emptyDir = bytesField(2, bytesField(2, bytesField(1, 'Memory')))
    const reference = bytesField(3, join(bytesField(1, bytesField(1, 'settings')), bytesField(2, 'colour')))
    const variable = bytesField(7, join(bytesField(1, 'COLOUR'), bytesField(3, reference)))
    const spec = join(
      bytesField(1, join(bytesField(1, 'scratch'), emptyDir)),
      bytesField(2, join(bytesField(1, 'main'), variable)),
    )
    const body = parseProtobufBody(envelope('v1', 'Pod', bytesField(2, spec))) as { spec: unknown }
    assert.deepEqual(body.spec, {
      volumes: [{ name: 'scratch', emptyDir: { medium: 'Memory' } }],
      containers: [
        {
          name: 'main',
          env: [{ name: 'COLOUR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'colour' } } }],
        },
      ],
    })
  })

  test('of DeleteOptions is read whatever the group, and keeps a zero that was meant', () => {
    const body = parseProtobufBody(
      envelope('apps/v1', 'DeleteOptions', join(numberField(1, 0n), bytesField(4, 'Background'))),
    )
    assert.deepEqual(body, {
      apiVersion: 'apps/v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      propagationPolicy: 'Background',
    })
  })

  test('keeps a zero where a number or a percentage may stand: a budget and a pace of 0 are no absent ones', () => {
    const zero = join(numberField(1, 0n), numberField(2, 0n), bytesField(3, ''))
    const budget = parseProtobufBody(
      envelope('policy/v1', 'PodDisruptionBudget', join(named('b'), bytesField(2, bytesField(3, zero)))),
    )
    assert.deepEqual((budget as JsonObject)['spec'], { maxUnavailable: 0 })
    const pace = join(bytesField(1, zero), bytesField(2, join(numberField(1, 1n), bytesField(3, '20%'))))
    const strategy = join(bytesField(1, 'RollingUpdate'), bytesField(2, pace))
    const set = parseProtobufBody(
      envelope('apps/v1', 'DaemonSet', join(named('d'), bytesField(2, bytesField(3, strategy)))),
    )
    assert.deepEqual((set as JsonObject)['spec'], {
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: '20%' } },
    })
  })

  test('skips fields of a newer client', () => {
    const message = join(
      named('a'),
      bytesField(900, 'new'),
      numberField(901, 7n),
      varint((902n << 3n) | 5n),
      Buffer.alloc(4),
    )
    assert.deepEqual(parseProtobufBody(envelope('v1', 'Namespace', message)), {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'a' },
    })
  })

  const rows: readonly [string, Uint8Array, RegExp][] = [
    ['without the magic bytes', Buffer.from('{"kind":"Pod"}'), /does not start with k8s/],
    [
      'of a kind that is no built-in',
      envelope('example.com/v1', 'Widget', Buffer.alloc(0)),
      /Widget of example.com\/v1 cannot/,
    ],
    ['that ends within a field', envelope('v1', 'Pod', Buffer.from([0x0a, 0x7f, 0x01])), /ends within a field/],
    [
      'with a length beyond all bounds',
      envelope('v1', 'Pod', Buffer.from('0affffffffffffffff7f', 'hex')),
      /ends within/,
    ],
    [
      'with a number of eleven bytes',
      envelope('v1', 'Pod', Buffer.from('08ffffffffffffffffffff01', 'hex')),
      /longer than ten/,
    ],
    ['with a group', envelope('v1', 'Pod', Buffer.from([0x0b])), /wire type 3/],
    ['with field number zero', envelope('v1', 'Pod', Buffer.from([0x02, 0x00])), /not a field number/],
    [
      'with a number for a message',
      envelope('v1', 'Pod', numberField(1, 3n)),
      /metadata: expected bytes, found a number/,
    ],
    ['with bytes for a number', envelope('v1', 'DeleteOptions', bytesField(1, 'x')), /expected a number, found bytes/],
    ['with text that is not UTF-8', envelope('v1', 'Pod', bytesField(1, bytesField(1, Buffer.from([0xff])))), /UTF-8/],
    [
      'with a time past all calendars',
      envelope('v1', 'Pod', bytesField(1, bytesField(8, numberField(1, 9n ** 15n)))),
      /not a time/,
    ],
    ['with an integer JSON cannot hold', envelope('v1', 'DeleteOptions', numberField(1, 2n ** 60n)), /out of range/],
  ]
  for (const [what, bytes, message] of rows) {
    test(`${what} is a 400 that says so`, () => {
      assert.throws(
        () => parseProtobufBody(bytes),
        (thrown) => thrown instanceof StatusError && thrown.httpCode === 400 && message.test(thrown.message),
      )
    })
  }
})

describe('a CustomResourceDefinition as client-go 0.34 encodes it', () => {
  const folder = 'test/fixtures/protobuf'
  const bytes = Buffer.from(readFileSync(`${folder}/definition.base64`, 'utf8'), 'base64')
  const withoutEmpty = ({ status: _, ...definition }: Record<string, unknown>) => definition

  test('is read as its JSON, with every field of a JSON schema', () => {
    const expected = JSON.parse(readFileSync(`${folder}/definition.json`, 'utf8'))
    const { metadata: _, ...rest } = expected
    const { metadata, ...read } = withoutEmpty(parseProtobufBody(bytes) as Record<string, unknown>)
    assert.deepEqual(metadata, { name: 'widgets.example.com' })
    assert.deepEqual(JSON.parse(JSON.stringify(read)), withoutEmpty(rest))
  })

  test('is read where its schema nests as deep as JSON may, and refused where it nests deeper', () => {
    const nested = (levels: number) => {
      let schema = bytesField(5, 'object')
      for (let level = 0; level < levels; level++) schema = join(bytesField(28, schema))
      const version = join(bytesField(1, 'v1'), bytesField(4, bytesField(1, schema)))
      return envelope('apiextensions.k8s.io/v1', 'CustomResourceDefinition', bytesField(2, bytesField(7, version)))
    }
    assert.ok(parseProtobufBody(nested(900)))
    assert.throws(() => parseProtobufBody(nested(1_100)), /has more than 1000 levels/)
  })

  test('has numbers of 8 bytes and values of JSON, or is refused', () => {
    const withSchema = (schema: Uint8Array) => {
      const version = bytesField(4, bytesField(1, schema))
      return envelope('apiextensions.k8s.io/v1', 'CustomResourceDefinition', bytesField(2, bytesField(7, version)))
    }
    assert.throws(() => parseProtobufBody(withSchema(numberField(9, 1n))), /maximum: expected a number of 8 bytes/)
    assert.throws(() => parseProtobufBody(withSchema(bytesField(8, bytesField(1, '{"a":')))), StatusError)
  })
})

describe('what is written as protobuf', () => {
  const readBack = (group: string, version: string, kind: string, value: JsonObject) => {
    const bytes = toProtobuf({ group, version, kind }, value)
    assert.ok(bytes)
    return JSON.parse(JSON.stringify(parseProtobufBody(bytes)))
  }

  test('reads back as it was: maps, bytes, quantities, times, numbers or names', () => {
    const pod = {
      metadata: { name: 'web', labels: { app: 'web' }, creationTimestamp: '2026-11-23T10:00:00Z', generation: 3 },
      spec: {
        containers: [
          {
            name: 'web',
            image: 'web:1',
            ports: [{ containerPort: 80, protocol: 'TCP' }],
            resources: { limits: { cpu: '500m', memory: '1Gi' } },
            livenessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 10 },
            readinessProbe: { tcpSocket: { port: 8080 } },
          },
        ],
        terminationGracePeriodSeconds: 0,
        hostNetwork: true,
      },
    }
    const { kind, apiVersion, ...read } = readBack('', 'v1', 'Pod', pod)
    assert.deepEqual([kind, apiVersion], ['Pod', 'v1'])
    assert.deepEqual(read, pod)
    const secret = { metadata: { name: 's' }, data: { key: 'YWJj' } }
    assert.deepEqual(readBack('', 'v1', 'Secret', secret).data, secret.data)
    const lease = {
      metadata: { name: 'l' },
      spec: { renewTime: '2026-11-23T10:00:00.123456Z', leaseDurationSeconds: 40 },
    }
    assert.deepEqual(readBack('coordination.k8s.io', 'v1', 'Lease', lease).spec, lease.spec)
  })

  test('a definition with every field of a JSON schema is the bytes that client-go reads', () => {
    const definition = JSON.parse(readFileSync('test/fixtures/protobuf/definition.json', 'utf8'))
    const read = readBack('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition', definition)
    assert.deepEqual(read.spec, definition.spec)
  })
})
