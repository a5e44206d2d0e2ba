import { z } from 'zod'
import { objectKey } from '../../model/api-object.ts'
import { compact } from '../../model/compact.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { Ingress, IngressBackend, IngressPath, IngressRule, IngressTls } from '../../model/ingress.ts'
import type { HostPattern } from '../../model/routing-table.ts'
import { type Field, type FieldReader, fields, type Parsed } from '../state/index.ts'
import { parseHostPattern } from './host-pattern.ts'
import { readIngressSettings } from './read-ingress-settings.ts'

const maxPathLength = 1024

const host: Field<HostPattern> = {
  schema: z.string().transform((text, context) => {
    const pattern = parseHostPattern(text)
    if (pattern !== undefined) return pattern
    context.addIssue({ code: 'custom', message: 'not a host' })
    return z.NEVER
  }),
  expected: 'a DNS name, of which the first label may be *',
}
const path: Field<string> = {
  schema: z
    .string()
    .max(maxPathLength)
    .regex(/^\/[!-"$->@-~]*$/),
  expected: `a path that begins with /, of printable ASCII without ? and #, at most ${maxPathLength}`,
}
const pathKind: Field<IngressPath['kind']> = {
  schema: z
    .enum(['Exact', 'Prefix', 'ImplementationSpecific'])
    .transform((type) => (type === 'Exact' ? 'exact' : 'prefix')),
  expected: 'Exact, Prefix or ImplementationSpecific',
}
const portName: Field<string> = {
  schema: z.string().regex(/^(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*$/),
  expected: 'the name of a port ([a-z0-9-] with a letter, at most 15)',
}

/**
 * Reads an Ingress of the API; the body is equal in both dialects. A part that cannot be read is a problem, and the rest is used. A
 * backend that cannot be read keeps its path and answers 503. Only an object without namespace or name gives no value.
 */
export function readIngress(json: unknown, dialect: Dialect): Parsed<Ingress> {
  return fields.parseObject('Ingress', json, (reader, object, { key, namespace, name }) => {
    const metadata = reader.required(fields.record, object['metadata'], 'metadata') ?? {}
    const annotations = reader.optional(fields.record, metadata['annotations'], 'metadata.annotations') ?? {}
    const spec = reader.optional(fields.record, object['spec'], 'spec') ?? {}
    const backend = isAbsent(spec['defaultBackend'])
      ? undefined
      : readBackend(reader, spec['defaultBackend'], 'spec.defaultBackend')
    return {
      key,
      namespace,
      name,
      ...readAge(metadata),
      ...readClass(reader, spec, annotations, dialect),
      ...(backend !== undefined && { defaultBackend: backend }),
      rules: fields.readEach(reader, spec['rules'], 'spec.rules', (rule, at) => readRule(reader, rule, at)),
      tls: fields.readEach(reader, spec['tls'], 'spec.tls', (tls, at) => readTls(reader, tls, at, namespace)),
      settings: readIngressSettings(reader, annotations, dialect),
    }
  })
}

function isAbsent(json: unknown): boolean {
  return json === undefined || json === null
}

/** The server sets both; what makes no sense only makes the Ingress the youngest. */
function readAge({ uid, creationTimestamp }: fields.JsonRecord): Pick<Ingress, 'uid' | 'createdAtMs'> {
  const createdAtMs = typeof creationTimestamp === 'string' ? Date.parse(creationTimestamp) : Number.NaN
  return { ...(typeof uid === 'string' && { uid }), ...(!Number.isNaN(createdAtMs) && { createdAtMs }) }
}

/** Reads the field, else the annotation that was before it. */
function readClass(
  reader: FieldReader,
  spec: fields.JsonRecord,
  annotations: fields.JsonRecord,
  dialect: Dialect,
): Pick<Ingress, 'className'> {
  const { ingressClass } = dialect.annotations
  const className = isAbsent(spec['ingressClassName'])
    ? reader.optional(fields.dnsSubdomain, annotations[ingressClass], `metadata.annotations[${ingressClass}]`)
    : reader.required(fields.dnsSubdomain, spec['ingressClassName'], 'spec.ingressClassName')
  return className === undefined ? {} : { className }
}

function readRule(reader: FieldReader, rule: fields.JsonRecord, at: string): IngressRule | undefined {
  const pattern = rule['host'] === '' ? '' : reader.optional(host, rule['host'], `${at}.host`)
  // An unreadable host must not become every host.
  if (pattern === undefined && !isAbsent(rule['host'])) return undefined
  const http = reader.optional(fields.record, rule['http'], `${at}.http`) ?? {}
  const paths = fields.readEach(reader, http['paths'], `${at}.http.paths`, (json, pathAt) =>
    readPath(reader, json, pathAt),
  )
  return { host: pattern ?? '', paths }
}

function readPath(reader: FieldReader, json: fields.JsonRecord, at: string): IngressPath | undefined {
  const kind = reader.required(pathKind, json['pathType'], `${at}.pathType`)
  const isOpen = json['pathType'] === 'ImplementationSpecific' && (isAbsent(json['path']) || json['path'] === '')
  const text = isOpen ? '/' : reader.required(path, json['path'], `${at}.path`)
  const backend = readBackend(reader, json['backend'], `${at}.backend`)
  return kind === undefined || text === undefined ? undefined : { path: text, kind, backend, field: at }
}

const unreadable: IngressBackend = { kind: 'none', why: 'cannot be read' }

function readBackend(reader: FieldReader, json: unknown, at: string): IngressBackend {
  const backend = reader.required(fields.record, json, at)
  if (backend === undefined) return unreadable
  if (!isAbsent(backend['resource'])) {
    reader.report(`${at}.resource`, 'a backend of kind service, other resources are not served', backend['resource'])
    return { kind: 'none', why: 'is a resource, which is not served' }
  }
  const service = reader.required(fields.record, backend['service'], `${at}.service`)
  const name = service && reader.required(fields.dnsLabel, service['name'], `${at}.service.name`)
  const port = service && readPort(reader, service['port'], `${at}.service.port`)
  return name === undefined || port === undefined ? unreadable : { kind: 'service', service: name, port }
}

/** Reads the number or the name; 0 and `""` count as absent. */
function readPort(reader: FieldReader, json: unknown, at: string): string | undefined {
  const port = reader.required(fields.record, json, at)
  if (port === undefined) return undefined
  const hasNumber = !isAbsent(port['number']) && port['number'] !== 0
  const hasName = !isAbsent(port['name']) && port['name'] !== ''
  if (hasNumber === hasName) {
    reader.report(at, 'number or name, and not both', port)
    return undefined
  }
  if (hasName) return reader.required(portName, port['name'], `${at}.name`)
  return reader.required(fields.portNumber, port['number'], `${at}.number`)?.toString()
}

function readTls(
  reader: FieldReader,
  tls: fields.JsonRecord,
  field: string,
  namespace: string,
): IngressTls | undefined {
  const hosts = fields.readValues(reader, host, tls['hosts'], `${field}.hosts`)
  const hasHosts = !isAbsent(tls['hosts']) && !(Array.isArray(tls['hosts']) && tls['hosts'].length === 0)
  // Without hosts an entry stands for all names of its certificate, which unreadable ones did not ask for.
  if (hasHosts && hosts.length === 0) return undefined
  const { secretName } = tls
  const name = secretName === '' ? undefined : reader.optional(fields.dnsSubdomain, secretName, `${field}.secretName`)
  return { hosts: compact(hosts), ...(name !== undefined && { secret: objectKey(namespace, name) }), field }
}
