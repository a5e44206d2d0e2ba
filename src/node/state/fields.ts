import { z } from 'zod'
import { objectKey } from '../../model/api-object.ts'
import { compact, none } from '../../model/compact.ts'
import { type Cidr, type Ip, parseCidr } from '../../model/ip.ts'
import type { Protocol } from '../../model/service.ts'
import { parseWorkloadIp, specialKindIn } from '../../model/special-addresses.ts'
import { type Field, FieldReader } from './problem.ts'

export type JsonRecord = Readonly<Record<string, unknown>>

/** RFC 1123 */
const labelPattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const subdomainPattern = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** A text that the pattern matches. */
export function matching(pattern: RegExp, expected: string): Field<string> {
  const quick = (json: unknown) => (typeof json === 'string' && pattern.test(json) ? json : undefined)
  return { schema: z.string().regex(pattern), expected, quick }
}

/** One of some words. */
export function oneOf<const Word extends string>(words: readonly [Word, ...Word[]], expected: string): Field<Word> {
  return { schema: z.enum(words), expected, quick: (json) => words.find((word) => word === json) }
}

export const dnsLabel = matching(labelPattern, 'a DNS label ([a-z0-9-], at most 63)')
export const dnsSubdomain = matching(subdomainPattern, 'a DNS name ([a-z0-9.-], at most 253)')
export const portName = matching(/^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$/, 'a DNS label or "" (null is forbidden)')
export const labelValue = matching(
  /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
  'a label value ([A-Za-z0-9_.-], at most 63)',
)

export const portNumber: Field<number> = {
  schema: z.int().min(1).max(65535),
  expected: 'a port from 1 to 65535',
  quick: (json) => (Number.isInteger(json) && Number(json) >= 1 && Number(json) <= 65535 ? Number(json) : undefined),
}
const protocol: Field<Protocol> = oneOf(['TCP', 'UDP', 'SCTP'], 'TCP, UDP or SCTP')
export const flag: Field<boolean> = {
  schema: z.boolean(),
  expected: 'true or false',
  quick: (json) => (typeof json === 'boolean' ? json : undefined),
}
export const record: Field<JsonRecord> = {
  schema: z.custom<JsonRecord>(isRecord),
  expected: 'an object',
  quick: (json) => (isRecord(json) ? json : undefined),
}
export const list: Field<readonly unknown[]> = {
  schema: z.custom<readonly unknown[]>((json) => Array.isArray(json)),
  expected: 'a list',
  quick: (json) => (Array.isArray(json) ? json : undefined),
}

/** An address at which a Service or an endpoint may be: nothing sends traffic to this node itself, its link or a metadata server. */
export const workloadAddress: Field<Ip> = {
  schema: z.string().transform((text, context) => {
    const ip = parseWorkloadIp(withoutLeadingZeros(text))
    if (ip !== undefined) return ip
    context.addIssue({ code: 'custom', message: 'not an ordinary unicast IP address' })
    return z.NEVER
  }),
  expected: 'an IP address (ordinary unicast: no loopback, link-local, multicast, metadata server)',
  quick: (json) => (typeof json === 'string' ? parseWorkloadIp(json) : undefined),
}

/** Old objects may say `172.30.0.041`, which is read as decimal wherever Kubernetes reads it; a program of iptables would take it for octal. */
function withoutLeadingZeros(text: string): string {
  return /^[\d./]*$/.test(text) ? text.replaceAll(/\b0+(?=\d)/g, '') : text
}

/** A network of pods: `0.0.0.0/0` of a Node would make every packet one of a pod. */
export const podNetwork: Field<Cidr> = {
  schema: z.string().transform((text, context) => {
    const cidr = parseCidr(withoutLeadingZeros(text.trim()))
    if (cidr !== undefined && specialKindIn(cidr) === undefined) return cidr
    context.addIssue({ code: 'custom', message: 'not a network of pods' })
    return z.NEVER
  }),
  expected: 'a network (address/prefix) without special addresses',
}

/** Host bits are cleared and blanks around it ignored, as Kubernetes does with source ranges. */
export const network: Field<Cidr> = {
  schema: z.string().transform((text, context) => {
    const cidr = parseCidr(withoutLeadingZeros(text.trim()))
    if (cidr !== undefined) return cidr
    context.addIssue({ code: 'custom', message: 'not a network' })
    return z.NEVER
  }),
  expected: 'a network (address/prefix)',
}

/** The elements of a list of single values that make sense, each once; the others are reported. */
export function readValues<Value>(
  reader: FieldReader,
  field: Field<Value>,
  json: unknown,
  path: string,
): readonly Value[] {
  const elements = reader.optional(list, json, path) ?? none
  if (elements.length === 0) return none
  const values = elements.map((element, index) => reader.required(field, element, `${path}[${index}]`))
  return compact([...new Set(values.filter((value) => value !== undefined))])
}

export function isRecord(json: unknown): json is JsonRecord {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** An object's identity and labels, read and checked. */
export interface Identity {
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly labels: JsonRecord
}

/** Returns the name of an object in messages, whatever the object contains. */
function describeObject(kind: string, object: unknown): string {
  const metadata = isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {}
  const parts = [metadata['namespace'], metadata['name']].filter((part) => typeof part === 'string')
  return `${kind} ${JSON.stringify(parts.join('/').slice(0, 320)).slice(1, -1)}`
}

function readIdentity(reader: FieldReader, object: JsonRecord): Identity | undefined {
  const metadata = reader.required(record, object['metadata'], 'metadata')
  if (metadata === undefined) return undefined
  const name = reader.required(dnsSubdomain, metadata['name'], 'metadata.name')
  const namespace = reader.required(dnsLabel, metadata['namespace'], 'metadata.namespace')
  if (name === undefined || namespace === undefined) return undefined
  const labels = reader.optional(record, metadata['labels'], 'metadata.labels') ?? {}
  return { key: objectKey(namespace, name), namespace, name, labels }
}

/** Runs a reader over one object and puts its problems beside the value. */
export function parseObject<Value>(
  kind: string,
  json: unknown,
  read: (reader: FieldReader, object: JsonRecord, identity: Identity) => Value | undefined,
) {
  const reader = new FieldReader(() => describeObject(kind, json))
  const object = reader.required(record, json, 'the object')
  const identity = object === undefined ? undefined : readIdentity(reader, object)
  const value = object === undefined || identity === undefined ? undefined : read(reader, object, identity)
  return { value, problems: compact(reader.problems) }
}

/** Parses each element of a list; the elements that give nothing are left out (and have been reported). */
export function readEach<Value>(
  reader: FieldReader,
  json: unknown,
  path: string,
  readOne: (element: JsonRecord, path: string) => Value | undefined,
): readonly Value[] {
  const values: Value[] = []
  const elements = reader.optional(list, json, path) ?? []
  elements.forEach((json, index) => {
    const elementPath = `${path}[${index}]`
    const element = reader.required(record, json, elementPath)
    const value = element === undefined ? undefined : readOne(element, elementPath)
    if (value !== undefined) values.push(value)
  })
  return compact(values)
}

/** Absent is TCP; what is no protocol is not taken for one. */
export function readProtocol(reader: FieldReader, element: JsonRecord, path: string): Protocol | undefined {
  return reader.required(protocol, element['protocol'] ?? 'TCP', path, '.protocol')
}
