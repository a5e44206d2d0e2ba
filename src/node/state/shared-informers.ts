import { type ApiClient, type InformerTiming, SharedInformer } from '../../client/index.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { Logger, Tracer } from '../../observe/index.ts'

interface SharedInformerParts {
  readonly client: ApiClient
  readonly dialect: Dialect
  readonly log: Logger
  /** Absent: changes are not traced. */
  readonly tracer?: Tracer
  readonly timing?: Partial<InformerTiming>
}

/** The collections of the whole cluster that several parts of an agent follow: one list and one watch of each. */
export interface SharedInformers {
  /** Nodes with their addresses, pod networks, the condition Ready and the annotation of Ingress addresses. */
  readonly nodes: SharedInformer
  /** Namespaces with their labels. */
  readonly namespaces: SharedInformer
}

export function createSharedInformers({ client, dialect, log, tracer, timing }: SharedInformerParts): SharedInformers {
  const follow = (resource: string) => ({
    client,
    collection: { resource: { group: '', version: 'v1', resource } },
    log: log.child(resource),
    tracer,
    ...(timing && { timing }),
  })
  return {
    nodes: new SharedInformer({
      ...follow('nodes'),
      content: 'unmanaged',
      reduce: (json) => reduceNode(json, dialect.annotations.ingressAddresses),
    }),
    namespaces: new SharedInformer({ ...follow('namespaces'), content: 'metadata', reduce: reduceNamespace }),
  }
}

const identity = ['name', 'uid', 'resourceVersion']

/** Keeps fields as they are: their readers judge them. */
export function reduceNode(json: unknown, annotation: string): unknown {
  const { metadata, spec, status } = asRecord(json)
  const { annotations } = asRecord(metadata)
  const { conditions } = asRecord(status)
  const ready = Array.isArray(conditions) ? conditions.filter((each) => asRecord(each)['type'] === 'Ready') : []
  return {
    metadata: {
      ...pick(metadata, [...identity, 'creationTimestamp']),
      annotations: pick(annotations, [annotation]),
    },
    spec: pick(spec, ['podCIDR', 'podCIDRs']),
    status: { ...pick(status, ['addresses']), conditions: ready.map((each) => pick(each, ['type', 'status'])) },
  }
}

export function reduceNamespace(json: unknown): unknown {
  return { metadata: pick(asRecord(json)['metadata'], [...identity, 'labels']) }
}

function pick(json: unknown, names: readonly string[]): Record<string, unknown> {
  const record = asRecord(json)
  return Object.fromEntries(names.filter((name) => name in record).map((name) => [name, record[name]]))
}

function asRecord(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {}
}
