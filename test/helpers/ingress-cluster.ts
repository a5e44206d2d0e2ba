import assert from 'node:assert/strict'
import type { ObjectKey } from '../../src/model/api-object.ts'
import { createDialect } from '../../src/model/dialect.ts'
import type { EndpointSlice } from '../../src/model/endpoint-slice.ts'
import type { Ingress, IngressClass } from '../../src/model/ingress.ts'
import type { Service } from '../../src/model/service.ts'
import {
  type IngressChanges,
  IngressPlan,
  type IngressPlanSettings,
  type IngressStep,
} from '../../src/node/ingress/plan.ts'
import type { FoundSecret } from '../../src/node/ingress/plan-certificates.ts'
import { readIngress } from '../../src/node/ingress/read-ingress.ts'
import type { Parsed } from '../../src/node/state/index.ts'
import { makeService, makeSlice } from './services.ts'

export const ingressDialect = createDialect('platform')
export const ourController = 'platform.internal/ingress'
const ourClass: IngressClass = { name: 'edge', controller: ourController }
const foreignClass: IngressClass = { name: 'other', controller: 'example.com/other' }

export interface IngressSketch {
  /** `shop/web` */
  readonly key: ObjectKey
  /** Seconds; 0 where absent. */
  readonly age?: number
  readonly className?: string | null
  readonly annotations?: Readonly<Record<string, string>>
  /** By host: paths with their Service and port, as `'/cart': 'web:80'`. `=/pay` is an exact path. */
  readonly rules?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly defaultBackend?: string
  readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName: string }[]
}

/** An Ingress as it is read from the wire; the class is ours where none is given. */
export function ingressOf({ key, age = 0, className = 'edge', ...sketch }: IngressSketch): Parsed<Ingress> {
  const [namespace, name] = key.split('/')
  const { annotations, defaultBackend, rules = {}, tls } = sketch
  const creationTimestamp = new Date(Date.UTC(2026, 0, 1) - age * 1000).toISOString()
  return readIngress(
    {
      metadata: { namespace, name, creationTimestamp, annotations },
      spec: {
        ...(className !== null && { ingressClassName: className }),
        ...(defaultBackend !== undefined && { defaultBackend: wireBackend(defaultBackend) }),
        rules: Object.entries(rules).map(([host, paths]) => ({
          ...(host !== '' && { host }),
          http: { paths: Object.entries(paths).map(([path, backend]) => wirePath(path, backend)) },
        })),
        tls,
      },
    },
    ingressDialect,
  )
}

function wirePath(path: string, backend: string) {
  const isExact = path.startsWith('=')
  return {
    path: isExact ? path.slice(1) : path,
    pathType: isExact ? 'Exact' : 'Prefix',
    backend: wireBackend(backend),
  }
}

function wireBackend(text: string) {
  const [name, port = ''] = text.split(':')
  return { service: { name, port: /^\d+$/.test(port) ? { number: Number(port) } : { name: port } } }
}

/** Services, classes and Ingresses with the plan of them. */
export class IngressCluster {
  readonly services = new Map<ObjectKey, { readonly service: Service; readonly slices: readonly EndpointSlice[] }>()
  readonly plan: IngressPlan
  nowMs = Date.UTC(2026, 5, 1)
  step: IngressStep

  constructor(settings: Partial<IngressPlanSettings> = {}) {
    const source = {
      service: (key: ObjectKey) => this.services.get(key)?.service,
      slicesOf: (key: ObjectKey) => this.services.get(key)?.slices ?? [],
    }
    const { h2cProtocols } = ingressDialect
    this.plan = new IngressPlan(source, { controller: ourController, h2cProtocols, ...settings })
    this.step = this.plan.update(
      { classes: new Map([ourClass, foreignClass].map((each) => [each.name, each])) },
      this.nowMs,
    )
  }

  update(changes: IngressChanges): IngressStep {
    this.step = this.plan.update(changes, this.nowMs)
    return this.step
  }

  /** Takes Ingresses as they are now. */
  put(...sketches: readonly IngressSketch[]): IngressStep {
    return this.update({ ingresses: new Map(sketches.map((sketch) => [sketch.key, ingressOf(sketch)])) })
  }

  remove(key: ObjectKey): IngressStep {
    return this.update({ ingresses: new Map([[key, undefined]]) })
  }

  /** A Service with port 80 `http` at 8080 of each endpoint. */
  serve(key: ObjectKey, endpoints: Parameters<typeof makeSlice>[2], details: Partial<Service> = {}): IngressStep {
    const slices = endpoints.length === 0 ? [] : [makeSlice(key, [['http', 'TCP', 8080]], endpoints)]
    this.services.set(key, { service: makeService(key, '10.96.0.1', details), slices })
    return this.update({ services: [key] })
  }

  giveSecrets(secrets: Readonly<Record<ObjectKey, FoundSecret>>): IngressStep {
    return this.update({ secrets: new Map(Object.entries(secrets)) })
  }

  /** All problems as `shop/web: message`. */
  problems(): readonly string[] {
    return [...this.step.problems].flatMap(([key, list]) => list.map(({ message }) => `${key}: ${message}`))
  }

  /** The endpoints of the only backend. */
  onlyBackend() {
    const [backend, ...others] = this.step.table.backends.values()
    assert.equal(others.length, 0)
    assert.ok(backend !== undefined)
    return backend
  }
}
