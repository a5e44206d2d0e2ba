import { z } from 'zod'
import { type Cidr, cidrContains } from '../../model/ip.ts'
import type { IpBlock, NetworkPolicy, PodPeer, PolicyPeer, PolicyPort, PolicyRule } from '../../model/network-policy.ts'
import type { Protocol } from '../../model/service.ts'
import { type Field, type FieldReader, fields, type Parsed } from '../state/index.ts'
import { readSelector, reportUnknownFields } from './read-selector.ts'

/** Stands for a peer that cannot be read: no label has an empty list of values. */
const unreadablePeer: PodPeer = { kind: 'pods', pods: [{ key: '', operator: 'in', values: [] }] }
/** Stands for a port that cannot be read: no port of a pod has this name. */
const unreadablePort: PolicyPort = { kind: 'name', protocol: 'TCP', name: '-' }
const unreadableRule: PolicyRule = { peers: [unreadablePeer] }

const portName: Field<string> = {
  schema: z.string().regex(/^(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*$/),
  expected: 'a port from 1 to 65535 or the name of a port ([a-z0-9-], at most 15)',
}
const protocol: Field<Protocol> = { schema: z.enum(['TCP', 'UDP', 'SCTP']), expected: 'TCP, UDP or SCTP' }

const specFields = new Set(['podSelector', 'policyTypes', 'ingress', 'egress'])
const peerFields = new Set(['podSelector', 'namespaceSelector', 'ipBlock'])
const ipBlockFields = new Set(['cidr', 'except'])
const portFields = new Set(['protocol', 'port', 'endPort'])

type Direction = 'ingress' | 'egress'
const directionOf: Readonly<Record<string, Direction>> = { Ingress: 'ingress', Egress: 'egress' }

/**
 * Reads a NetworkPolicy of the API; the body is equal in both dialects. It fails closed: what cannot be read of the selector still
 * isolates pods, a peer, port or rule that cannot be read allows nothing, and each is a problem. Only an object without namespace or
 * name gives no value.
 */
export function readNetworkPolicy(json: unknown): Parsed<NetworkPolicy> {
  return fields.parseObject('NetworkPolicy', json, (reader, object, { key, namespace, name }) => {
    const spec = reader.optional(fields.record, object['spec'], 'spec')
    const isUnreadable = spec === undefined && object['spec'] !== undefined && object['spec'] !== null
    if (isUnreadable) return { key, namespace, name, podSelector: [], ingress: [], egress: [] }
    return { key, namespace, name, ...readSpec(reader, spec ?? {}) }
  })
}

/**
 * Reads the identity of a NetworkPolicy that the client leaves out: nothing of its spec is known, so it isolates all pods of its namespace
 * and allows nothing. A user who may write such an object may deny everything there anyway.
 */
export function unreadablePolicy(metadata: {
  readonly name: string
  readonly namespace?: string | undefined
}): Parsed<NetworkPolicy> {
  return readNetworkPolicy({ metadata, spec: 'too large, or no JSON' })
}

function readSpec(reader: FieldReader, spec: fields.JsonRecord): Omit<NetworkPolicy, 'key' | 'namespace' | 'name'> {
  reportUnknownFields(reader, spec, specFields, 'spec')
  const isKnown = reader.problems.length === 0
  const { selector: podSelector } = readSelector(reader, spec['podSelector'], 'spec.podSelector')
  const directions = readDirections(reader, spec, isKnown)
  return {
    podSelector,
    ...(directions.has('ingress') && { ingress: readRules(reader, spec['ingress'], 'ingress') }),
    ...(directions.has('egress') && { egress: readRules(reader, spec['egress'], 'egress') }),
  }
}

/**
 * Applies the default of the API where the types are absent or empty; a type that is unknown counts as both, and so do absent ones
 * beside a field that is unknown and may be their misspelling.
 */
function readDirections(reader: FieldReader, spec: fields.JsonRecord, isKnown: boolean): ReadonlySet<Direction> {
  const json = spec['policyTypes']
  if (json === undefined || json === null || (Array.isArray(json) && json.length === 0)) {
    const { egress } = spec
    const hasEgress = Array.isArray(egress) ? egress.length > 0 : egress !== undefined && egress !== null
    return new Set(hasEgress || !isKnown ? ['ingress', 'egress'] : ['ingress'])
  }
  const types = Array.isArray(json) ? json : [json]
  const found = types.map((type) => (typeof type === 'string' ? directionOf[type] : undefined))
  if (Array.isArray(json) && found.every((direction) => direction !== undefined)) return new Set(found)
  reader.report('spec.policyTypes', 'a list of Ingress and Egress', Array.isArray(json) ? json.join(', ') : json)
  return new Set(['ingress', 'egress'])
}

/** Reads the rules in their places; a value that is no list has none, so the direction is isolated. */
function readRules(reader: FieldReader, json: unknown, direction: Direction): readonly PolicyRule[] {
  const path = `spec.${direction}`
  const rules = reader.optional(fields.list, json, path) ?? []
  return rules.map((rule, index) => readRule(reader, rule, direction, `${path}[${index}]`))
}

function readRule(reader: FieldReader, json: unknown, direction: Direction, path: string): PolicyRule {
  const peerField = direction === 'ingress' ? 'from' : 'to'
  const rule = reader.required(fields.record, json, path)
  const before = reader.problems.length
  if (rule !== undefined) reportUnknownFields(reader, rule, new Set([peerField, 'ports']), path)
  if (rule === undefined || reader.problems.length > before) return unreadableRule
  const peers = readPlaces(reader, rule[peerField], `${path}.${peerField}`, readPeer, unreadablePeer)
  const ports = readPlaces(reader, rule['ports'], `${path}.ports`, readPort, unreadablePort)
  return { ...(peers.length > 0 && { peers }), ...(ports.length > 0 && { ports }) }
}

/** Reads a list of which each element keeps its place, those that cannot be read by the given value; so does a list that is none. */
function readPlaces<Value>(
  reader: FieldReader,
  json: unknown,
  path: string,
  readOne: (reader: FieldReader, element: fields.JsonRecord, path: string) => Value | undefined,
  unreadable: Value,
): readonly Value[] {
  if (json === undefined || json === null) return []
  const elements = reader.required(fields.list, json, path)
  if (elements === undefined) return [unreadable]
  return elements.map((element, index) => {
    const at = `${path}[${index}]`
    const before = reader.problems.length
    const object = reader.required(fields.record, element, at)
    const value = object && readOne(reader, object, at)
    return value === undefined || reader.problems.length > before ? unreadable : value
  })
}

function readPeer(reader: FieldReader, peer: fields.JsonRecord, path: string): PolicyPeer | undefined {
  reportUnknownFields(reader, peer, peerFields, path)
  const isPresent = (field: string) => peer[field] !== undefined && peer[field] !== null
  const hasPods = isPresent('podSelector')
  const hasNamespaces = isPresent('namespaceSelector')
  if (isPresent('ipBlock') === (hasPods || hasNamespaces)) {
    reader.report(path, 'podSelector and namespaceSelector, one of them, or ipBlock alone', peer)
    return undefined
  }
  if (isPresent('ipBlock')) return readIpBlock(reader, peer['ipBlock'], `${path}.ipBlock`)
  const pods = readSelector(reader, peer['podSelector'], `${path}.podSelector`).selector
  if (!hasNamespaces) return { kind: 'pods', pods }
  const namespaces = readSelector(reader, peer['namespaceSelector'], `${path}.namespaceSelector`).selector
  return { kind: 'pods', namespaces, pods }
}

function readIpBlock(reader: FieldReader, json: unknown, path: string): IpBlock | undefined {
  const block = reader.required(fields.record, json, path)
  const cidr = block && reader.required(fields.network, block['cidr'], `${path}.cidr`)
  if (block === undefined || cidr === undefined) return undefined
  reportUnknownFields(reader, block, ipBlockFields, path)
  const except = fields.readValues(reader, fields.network, block['except'], `${path}.except`)
  for (const outside of except.filter((each: Cidr) => !cidrContains(cidr, each)))
    reader.report(`${path}.except`, `networks inside ${cidr}`, outside)
  return { kind: 'ip-block', cidr, except }
}

function readPort(reader: FieldReader, json: fields.JsonRecord, path: string): PolicyPort | undefined {
  reportUnknownFields(reader, json, portFields, path)
  const { port, endPort } = json
  const found = reader.required(protocol, json['protocol'] ?? 'TCP', `${path}.protocol`)
  const hasEnd = endPort !== undefined && endPort !== null
  if (found === undefined) return undefined
  if (typeof port === 'number') return readRange(reader, found, json, path)
  if (hasEnd) {
    reader.report(`${path}.endPort`, 'endPort beside a port number only', endPort)
    return undefined
  }
  if (port === undefined || port === null) return { kind: 'protocol', protocol: found }
  const name = reader.required(portName, port, `${path}.port`)
  return name === undefined ? undefined : { kind: 'name', protocol: found, name }
}

function readRange(
  reader: FieldReader,
  found: Protocol,
  { port, endPort }: fields.JsonRecord,
  path: string,
): PolicyPort | undefined {
  const first = reader.required(fields.portNumber, port, `${path}.port`)
  const end = reader.optional(fields.portNumber, endPort, `${path}.endPort`)
  if (first === undefined) return undefined
  const last = end ?? first
  if (last < first) reader.report(`${path}.endPort`, `${first} or more`, last)
  return { kind: 'range', protocol: found, first, last }
}
