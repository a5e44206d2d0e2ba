import { badRequest, notAcceptable } from '../status.ts'

/** The form of an answer. The rows of a Table include each object's metadata, the whole object, or nothing. */
export type Representation = 'json' | 'yaml' | 'protobuf' | 'metadata' | TableForm
/** The media type in which Kubernetes' own clients write objects of built-in kinds. */
export const protobufType = 'application/vnd.kubernetes.protobuf'

export const mediaTypes = { json: 'application/json', yaml: 'application/yaml', protobuf: protobufType } as const

export type TableForm = 'table' | 'table-objects' | 'table-cells'

export interface MediaRange {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
}

const tableForms: Readonly<Record<string, TableForm>> = {
  '': 'table',
  Metadata: 'table',
  Object: 'table-objects',
  None: 'table-cells',
}

export function isTable(representation: Representation): representation is TableForm {
  return representation.startsWith('table')
}

/**
 * Returns the first form of the client's list that this server supports; no Accept header means JSON. The query's `includeObject` says what the rows
 * of a Table include. Throws a 406, or a 400 for an unknown `includeObject`.
 */
export function chooseRepresentation(accept: string | undefined, includeObject = ''): Representation {
  const ranges = parseAccept(accept)
  for (const range of ranges) {
    const representation = representationOf(range)
    if (representation !== undefined) return isTable(representation) ? tableForm(includeObject) : representation
  }
  if (ranges.length === 0) return 'json'
  if (acceptsOnlyProtobuf(accept)) return 'protobuf'
  throw notAcceptable([...formsOfText, protobufType])
}

/** Returns the name by which a client asks for metadata alone, where metadata is the form of the answer. */
export function nameOfMetadata(accept: string | undefined): string | undefined {
  const range = parseAccept(accept).find((each) => representationOf(each) !== undefined)
  return range !== undefined && representationOf(range) === 'metadata' ? range.parameters.get('as') : undefined
}

/** The media types that every object supports; built-in kinds support protobuf as well. */
export const formsOfText = ['application/json', 'application/yaml']

/** Checks whether a client accepts protobuf and no form derived from text, which is faster here. */
export function acceptsOnlyProtobuf(accept: string | undefined): boolean {
  const ranges = parseAccept(accept)
  const isProtobuf = ({ type, parameters }: MediaRange) =>
    type === protobufType && !parameters.has('as') && !parameters.has('stream')
  return ranges.some(isProtobuf) && ranges.every((range) => representationOf(range) === undefined)
}

function tableForm(includeObject: string): TableForm {
  const form = Object.hasOwn(tableForms, includeObject) ? tableForms[includeObject] : undefined
  if (form !== undefined) return form
  const why = `includeObject: Invalid value: ${JSON.stringify(includeObject)}: must be 'Metadata', 'Object', 'None', or empty`
  throw badRequest(`Unable to convert to Table as requested: ${why}`)
}

/** The forms by the `as` parameter; a list has two names. */
const reducedForms: Readonly<Record<string, Representation>> = {
  Table: 'table',
  PartialObjectMetadata: 'metadata',
  PartialObjectMetadataList: 'metadata',
}

function representationOf({ type, parameters }: MediaRange): Representation | undefined {
  const as = parameters.get('as')
  if (as !== undefined)
    return type === 'application/json' && parameters.get('v') === 'v1' ? reducedForms[as] : undefined
  if (type === 'application/yaml') return 'yaml'
  return type === 'application/json' || type === 'application/*' || type === '*/*' ? 'json' : undefined
}

/** Returns the media types that a client accepts, in order of preference: by weight, then named types before wildcards, then as listed. */
export function parseAccept(accept = ''): readonly MediaRange[] {
  const ranges = accept
    .split(',')
    .filter((range) => range.trim() !== '')
    .map(parseRange)
  return ranges.length < 2
    ? ranges
    : ranges.toSorted((a, b) => weightOf(b) - weightOf(a) || vagueness(a) - vagueness(b))
}

function weightOf({ parameters }: MediaRange): number {
  const weight = Number(parameters.get('q') ?? 1)
  return Number.isFinite(weight) ? weight : 0
}

function vagueness({ type }: MediaRange): number {
  return type.split('*').length
}

function parseRange(range: string): MediaRange {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
  return {
    type: type.toLowerCase(),
    parameters: new Map(parameters.map((parameter) => splitAt(parameter, '='))),
  }
}

function splitAt(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator)
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)]
}

/** Checks whether an Accept-Encoding header names gzip with a weight above zero. */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  return parseAccept(String(acceptEncoding ?? '')).some(
    ({ type, parameters }) => type === 'gzip' && Number(parameters.get('q') ?? 1) > 0,
  )
}

/** Checks whether a client accepts JSON of any kind. */
export function acceptsJson(accept: string | undefined): boolean {
  const ranges = parseAccept(accept)
  return ranges.length === 0 || ranges.some(({ type }) => ['application/json', 'application/*', '*/*'].includes(type))
}

/** Checks whether a client names one of the media types, whatever else it accepts. */
export function acceptsOneOf(accept: string | undefined, mediaTypes: readonly string[]): boolean {
  return parseAccept(accept).some(({ type }) => mediaTypes.includes(type))
}
