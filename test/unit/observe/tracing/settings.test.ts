import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findEndpointProblem, wantsTracing } from '../../../../src/observe/index.ts'
import { readTracingSettings } from '../../../../src/observe/tracing/settings.ts'

const read = (env: Readonly<Record<string, string>>) => readTracingSettings(env, { serviceName: 'platnet-server' })

test('Tracing is wanted where an endpoint is named and nothing switches it off', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4317' }
  assert.ok(wantsTracing(endpoint))
  assert.ok(wantsTracing({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4317' }))
  assert.ok(!wantsTracing({}))
  assert.ok(!wantsTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: ' ', OTEL_SERVICE_NAME: 'platnet' }))
  assert.ok(!wantsTracing({ ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }))
  assert.ok(!wantsTracing({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }))
})

describe('The settings of tracing', () => {
  test('have the defaults of the specification, and gRPC', () => {
    assert.deepEqual(read({}), {
      settings: {
        protocol: 'grpc',
        serviceName: 'platnet-server',
        resource: {},
        sampling: { ratio: 1, followsParent: true },
        queue: { maxSpans: 2048, maxBatch: 512, delayMs: 5000, timeoutMs: 30_000 },
      },
      warnings: [],
    })
  })

  test('follow the standard variables, those of traces before the general ones', () => {
    const { settings, warnings } = read({
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test,region=eu%2Cwest,service.name=other',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
      OTEL_BSP_MAX_QUEUE_SIZE: '100',
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_BSP_EXPORT_TIMEOUT: '20',
    })
    assert.deepEqual(warnings, [])
    assert.equal(settings.protocol, 'http/json')
    assert.equal(settings.serviceName, 'other')
    assert.equal(settings.resource['region'], 'eu,west')
    assert.deepEqual(settings.sampling, { ratio: 0.01, followsParent: true })
    assert.deepEqual(settings.queue, { maxSpans: 100, maxBatch: 100, delayMs: 10, timeoutMs: 20 })
  })

  test('take OTEL_SERVICE_NAME before the resource', () => {
    const env = { OTEL_SERVICE_NAME: 'mine', OTEL_RESOURCE_ATTRIBUTES: 'service.name=other' }
    assert.equal(read(env).settings.serviceName, 'mine')
  })

  test('know every sampler of the specification that needs no remote party', () => {
    const ofSampler = (name: string) =>
      read({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: '0.5' }).settings.sampling
    assert.deepEqual(ofSampler('always_on'), { ratio: 1, followsParent: false })
    assert.deepEqual(ofSampler('always_off'), { ratio: 0, followsParent: false })
    assert.deepEqual(ofSampler('traceidratio'), { ratio: 0.5, followsParent: false })
    assert.deepEqual(ofSampler('parentbased_always_on'), { ratio: 1, followsParent: true })
    assert.deepEqual(ofSampler('parentbased_always_off'), { ratio: 0, followsParent: true })
  })

  const unsound: readonly (readonly [name: string, value: string])[] = [
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http/xml'],
    ['OTEL_TRACES_SAMPLER', 'constructor'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'token=%zz'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'just-text'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '1e9'],
    ['OTEL_BSP_SCHEDULE_DELAY', '-1'],
  ]
  for (const [name, value] of unsound) {
    test(`keep the default where ${name} is ${value}, and a warning names the variable without its value`, () => {
      const { settings, warnings } = read({ [name]: value })
      assert.deepEqual(settings, read({}).settings)
      assert.equal(warnings.length, 1)
      assert.match(warnings[0] ?? '', new RegExp(`^the environment variable ${name} has no effect: expected `))
      assert.doesNotMatch(warnings[0] ?? '', /xml|constructor|zz|just-text|1e9|-1/)
    })
  }

  test('keep every trace where the share of traces is not understood', () => {
    const env = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'half' }
    assert.equal(read(env).settings.sampling.ratio, 1)
    assert.equal(read(env).warnings.length, 1)
  })
})

describe('The endpoint', () => {
  const endpoint = (value: string, protocol = 'grpc') =>
    findEndpointProblem({ OTEL_EXPORTER_OTLP_ENDPOINT: value, OTEL_EXPORTER_OTLP_PROTOCOL: protocol })

  test('is a URL, and for gRPC also a host with a port', () => {
    for (const value of ['http://127.0.0.1:4317', 'https://collector.example', 'http://[::1]:4317/'])
      for (const protocol of ['grpc', 'http/protobuf', 'http/json']) assert.equal(endpoint(value, protocol), undefined)
    assert.equal(endpoint('collector.example:4317'), undefined)
  })

  test('that is anything else is named without its value, because it may hold a password', () => {
    for (const value of ['not a url', 'http://', 'ftp://collector.example', '://secret'])
      assert.match(endpoint(value) ?? '', /^OTEL_EXPORTER_OTLP_ENDPOINT is no URL, such as http:/, value)
    assert.match(endpoint('collector.example:4318', 'http/protobuf') ?? '', /is no URL/)
    const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'x y', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317' }
    assert.match(findEndpointProblem(traces) ?? '', /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT /)
  })
})
