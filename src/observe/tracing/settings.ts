import type { Sampling } from './sampling.ts'

type Environment = Readonly<Record<string, string | undefined>>

export type OtlpProtocol = 'grpc' | 'http/protobuf' | 'http/json'

/** How spans are exported, from the variables that OpenTelemetry defines (environment variable specification 1.x). */
export interface TracingSettings {
  readonly protocol: OtlpProtocol
  readonly serviceName: string
  readonly resource: Readonly<Record<string, string>>
  readonly sampling: Sampling
  readonly queue: QueueSettings
}

export interface QueueSettings {
  /** The most spans that wait. */
  readonly maxSpans: number
  readonly maxBatch: number
  /** The longest time that a span waits for a batch. */
  readonly delayMs: number
  /** The time limit of one export. */
  readonly timeoutMs: number
}

export interface ReadSettings {
  readonly settings: TracingSettings
  /** Values that were not understood; their defaults hold. */
  readonly warnings: readonly string[]
}

/** Whether the environment names a collector and does not switch tracing off: without it nothing of tracing is loaded. */
export function wantsTracing(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER']?.trim() === 'none')
    return false
  const endpoints = [env['OTEL_EXPORTER_OTLP_ENDPOINT'], env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']]
  return endpoints.some((value) => value !== undefined && value.trim() !== '')
}

/** Describes why spans cannot go where the environment says; undefined where they can. The value is not shown: a URL may hold credentials. */
export function findEndpointProblem(env: Environment): string | undefined {
  const reader = new VariableReader(env)
  const name = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].find((each) => reader.text(each))
  const value = name === undefined ? '' : (reader.text(name) ?? '')
  // gRPC also takes HOST:PORT, and then TLS.
  const isBare = reader.protocol() === 'grpc' && !/^\w+:\/\//.test(value)
  const { protocol, hostname } = URL.parse(isBare ? `https://${value}` : value) ?? {}
  const isUsable = (protocol === 'http:' || protocol === 'https:') && hostname !== ''
  return isUsable ? undefined : `${name} is no URL, such as http://collector.example:4317`
}

/** Reads the settings. A value that is not understood is reported and has no effect, as the specification wants it. */
export function readTracingSettings(env: Environment, defaults: { readonly serviceName: string }): ReadSettings {
  const reader = new VariableReader(env)
  const resource = reader.pairs('OTEL_RESOURCE_ATTRIBUTES')
  const serviceName = reader.text('OTEL_SERVICE_NAME') ?? resource['service.name'] ?? defaults.serviceName
  const maxSpans = reader.whole('OTEL_BSP_MAX_QUEUE_SIZE', { from: 1, to: 1_000_000 }, 2048)
  const settings: TracingSettings = {
    protocol: reader.protocol(),
    serviceName,
    resource,
    sampling: reader.sampling(),
    queue: {
      maxSpans,
      maxBatch: Math.min(maxSpans, reader.whole('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', { from: 1, to: 100_000 }, 512)),
      delayMs: reader.whole('OTEL_BSP_SCHEDULE_DELAY', { from: 0, to: 3_600_000 }, 5000),
      timeoutMs: reader.whole('OTEL_BSP_EXPORT_TIMEOUT', { from: 1, to: 3_600_000 }, 30_000),
    },
  }
  return { settings, warnings: reader.warnings }
}

const protocols: readonly OtlpProtocol[] = ['grpc', 'http/protobuf', 'http/json']

const samplers: Readonly<Record<string, (ratio: number) => Sampling>> = {
  always_on: () => ({ ratio: 1, followsParent: false }),
  always_off: () => ({ ratio: 0, followsParent: false }),
  traceidratio: (ratio) => ({ ratio, followsParent: false }),
  parentbased_always_on: () => ({ ratio: 1, followsParent: true }),
  parentbased_always_off: () => ({ ratio: 0, followsParent: true }),
  parentbased_traceidratio: (ratio) => ({ ratio, followsParent: true }),
}

class VariableReader {
  readonly warnings: string[] = []
  readonly #env: Environment

  constructor(env: Environment) {
    this.#env = env
  }

  /** An empty value is an absent one. */
  text(name: string): string | undefined {
    const value = this.#env[name]?.trim()
    return value === '' ? undefined : value
  }

  whole(name: string, { from, to }: { readonly from: number; readonly to: number }, otherwise: number): number {
    const text = this.text(name)
    if (text === undefined) return otherwise
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= from && value <= to) return value
    this.#warn(name, `a whole number from ${from} to ${to}`)
    return otherwise
  }

  protocol(): OtlpProtocol {
    const names = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']
    const name = names.find((each) => this.text(each) !== undefined)
    if (name === undefined) return 'grpc'
    const found = protocols.find((protocol) => protocol === this.text(name))
    if (found === undefined) this.#warn(name, `one of ${protocols.join(', ')}`)
    return found ?? 'grpc'
  }

  sampling(): Sampling {
    const name = this.text('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on'
    const create = Object.hasOwn(samplers, name) ? samplers[name] : undefined
    if (create === undefined) {
      this.#warn('OTEL_TRACES_SAMPLER', `one of ${Object.keys(samplers).join(', ')}`)
      return { ratio: 1, followsParent: true }
    }
    return create(name.endsWith('traceidratio') ? this.#ratio() : 1)
  }

  #ratio(): number {
    const text = this.text('OTEL_TRACES_SAMPLER_ARG')
    if (text === undefined) return 1
    const value = Number(text)
    if (value >= 0 && value <= 1) return value
    this.#warn('OTEL_TRACES_SAMPLER_ARG', 'a number from 0 to 1')
    return 1
  }

  /** Reads `key=value,key=value` with values in percent-encoding; one bad pair makes all of them void. */
  pairs(name: string): Readonly<Record<string, string>> {
    try {
      const pairs = (this.text(name) ?? '').split(',').filter((pair) => pair.trim() !== '')
      return Object.fromEntries(pairs.map(readPair))
    } catch {
      this.#warn(name, 'key=value pairs with commas between them, values in percent-encoding')
      return {}
    }
  }

  /** The value is not shown: variables of this family hold credentials. */
  #warn(name: string, expected: string): void {
    this.warnings.push(`the environment variable ${name} has no effect: expected ${expected}`)
  }
}

function readPair(pair: string): readonly [string, string] {
  const at = pair.indexOf('=')
  if (at < 1) throw new SyntaxError('expected key=value')
  return [decodeURIComponent(pair.slice(0, at).trim()), decodeURIComponent(pair.slice(at + 1).trim())]
}
