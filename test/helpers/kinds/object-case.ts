import type { Fixture, KindCases, WriteCase } from './write-case.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Where objects of a kind stand, and a valid one. */
export interface Kind {
  readonly collection: string
  readonly valid: Fields
}

/** An object one step away from a valid one, or a change of an object. */
export interface ObjectCase extends Omit<WriteCase, 'method' | 'path' | 'body'> {
  /** Laid over the kind's valid object: objects field by field, null takes a field away. */
  readonly object: Fields
  /** A merge patch of the object, which is valid then; absent with `put`: the case is the create. */
  readonly patch?: Fields
  /** Laid over the object that was sent, to replace what stands. */
  readonly put?: Fields
  readonly subresource?: 'status' | 'approval' | 'finalize' | 'ephemeralcontainers' | 'resize'
  readonly isAbsent?: boolean
}

export function create(title: string, object: Fields, ...causes: readonly string[]): ObjectCase {
  return { title, object, causes }
}

export function change(title: string, object: Fields, patch: Fields, ...causes: readonly string[]): ObjectCase {
  return { title, object, patch, causes }
}

export function changeStatus(title: string, object: Fields, patch: Fields, ...causes: readonly string[]): ObjectCase {
  return { title, object, patch, subresource: 'status', causes }
}

/** A PUT of an object that is not there. */
export function replaceAbsent(title: string, object: Fields, ...causes: readonly string[]): ObjectCase {
  return { title, object, put: {}, isAbsent: true, causes, ...(causes.length === 0 ? { code: 201 } : {}) }
}

export function replace(title: string, object: Fields, put: Fields, ...causes: readonly string[]): ObjectCase {
  return { title, object, put, causes }
}

export function differs(each: ObjectCase, why: string): ObjectCase {
  return { ...each, differs: why }
}

/** Reasons why an address is refused that Kubernetes takes. */
export const zeros = 'some programs read leading zeros of an address as octal, and so find another one'
export const special = 'traffic to such an address would not go to this Service alone'

/** The answer to what cannot be decoded. */
export function unreadable(each: ObjectCase): ObjectCase {
  return { ...each, code: 400, reason: 'BadRequest' }
}

/** The table of a kind; what a change needs stands before it, under a name of its own. */
export function objectCases(title: string, kind: Kind, cases: readonly ObjectCase[]): KindCases {
  const base = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  const rows = cases.map((each, index) => ({ each, sent: layOver(kind.valid, each.object), name: `${base}-${index}` }))
  const changes = rows.filter(({ each }) => isChange(each) && each.isAbsent !== true)
  return {
    title,
    fixtures: changes.map(({ sent, name }) => ({ path: kind.collection, body: withName(sent, name) })),
    cases: rows.map(({ each, sent, name }) => ({ ...answerOf(each), ...writeOf(kind, each, sent, name) })),
  }
}

function isChange({ patch, put }: ObjectCase): boolean {
  return patch !== undefined || put !== undefined
}

function answerOf({
  object: _,
  patch: _patch,
  put: _put,
  subresource: _sub,
  isAbsent: _absent,
  ...answer
}: ObjectCase) {
  return answer
}

function writeOf(
  { collection }: Kind,
  { patch, put, subresource }: ObjectCase,
  sent: Fields,
  name: string,
): Pick<WriteCase, 'method' | 'path' | 'body'> {
  if (patch === undefined && put === undefined) return { method: 'POST', path: collection, body: sent }
  const path = `${collection}/${name}${subresource === undefined ? '' : `/${subresource}`}`
  if (patch !== undefined) return { method: 'PATCH', path, body: patch }
  return { method: 'PUT', path, body: withName(layOver(sent, put ?? {}), name) }
}

function withName(object: Fields, name: string): Fixture['body'] {
  return { ...object, metadata: { ...(isObject(object['metadata']) ? object['metadata'] : {}), name } }
}

/** RFC 7386. */
function layOver(value: Fields, patch: Fields): Fields {
  const merged = new Map(Object.entries(value))
  for (const [field, each] of Object.entries(patch)) {
    const old = merged.get(field)
    if (each === null) merged.delete(field)
    else merged.set(field, isObject(each) ? layOver(isObject(old) ? old : {}, each) : each)
  }
  return Object.fromEntries(merged)
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
