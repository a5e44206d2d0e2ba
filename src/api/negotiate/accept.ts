import { badRequest, notAcceptable } from '../status.ts'

/** The form an answer takes. The rows of a Table come with who each object is, with all of it, or with nothing. */
export type Representation = 'json' | 'yaml' | 'protobuf' | 'metadata' | TableForm
/** Objects of built-in kinds as Kubernetes' own clients write them. */
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
 * The first form of the client's list that this server can give; nothing asked means JSON. `includeObject` of the query says what comes with
 * the rows of a Table. Throws a 406, or a 400 for an `includeObject` that is none.
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

/** The forms in which every object is answered; those of built-in kinds have protobuf as well. */
export const formsOfText = ['application/json', 'application/yaml']

/** Whether a client takes protobuf and no form that is made of text, which is quicker here. */
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

/** By what `as` asks for; a list may be asked for under either name. */
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

/** What a client takes, what it likes best first: by its weights, then what is named before wildcards, then as it stands. */
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

/** Whether an Accept-Encoding header names gzip and does not weigh it zero. */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  return parseAccept(String(acceptEncoding ?? '')).some(
    ({ type, parameters }) => type === 'gzip' && Number(parameters.get('q') ?? 1) > 0,
  )
}

/** Whether a client takes JSON of any kind. */
export function acceptsJson(accept: string | undefined): boolean {
  const ranges = parseAccept(accept)
  return ranges.length === 0 || ranges.some(({ type }) => ['application/json', 'application/*', '*/*'].includes(type))
}

/** Whether a client names one of the media types, whatever else it takes. */
export function acceptsOneOf(accept: string | undefined, mediaTypes: readonly string[]): boolean {
  return parseAccept(accept).some(({ type }) => mediaTypes.includes(type))
}
