import { badRequest, notAcceptable } from '../status.ts'

export type Encoding = 'json' | 'yaml' | 'protobuf'

/** The versions of Tables and of metadata alone. v1beta1 has the same fields; clients from before Kubernetes 1.15 ask for it. */
export type MetaVersion = 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1'

/** The part of objects that an answer shows: whole objects, their metadata alone, or a Table. */
export type View =
  | { readonly kind: 'whole' }
  | { readonly kind: 'metadata'; readonly apiVersion: MetaVersion }
  | TableView

export interface TableView {
  readonly kind: 'table'
  readonly apiVersion: MetaVersion
  /** The part of its object that a row includes beside the cells. */
  readonly rows: 'metadata' | 'object' | 'nothing'
}

/** The form of an answer. */
export interface Representation {
  readonly encoding: Encoding
  readonly view: View
}

/** The media type in which Kubernetes' own clients write objects of built-in kinds. */
export const protobufType = 'application/vnd.kubernetes.protobuf'

export const mediaTypes = { json: 'application/json', yaml: 'application/yaml', protobuf: protobufType } as const

export interface MediaRange {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
}

const rowsOf: Readonly<Record<string, TableView['rows']>> = {
  '': 'metadata',
  Metadata: 'metadata',
  Object: 'object',
  None: 'nothing',
}

const wholeJson: Representation = { encoding: 'json', view: { kind: 'whole' } }

/**
 * Returns the first form of the client's list that this server supports; no Accept header means JSON. The query's `includeObject` says what the rows
 * of a Table include. Throws a 406, or a 400 for an unknown `includeObject`.
 */
export function chooseRepresentation(accept: string | undefined, includeObject = ''): Representation {
  const ranges = parseAccept(accept)
  for (const range of ranges) {
    const representation = representationOf(range)
    if (representation?.view.kind === 'table')
      return { ...representation, view: { ...representation.view, rows: includedInRows(includeObject) } }
    if (representation !== undefined) return representation
  }
  if (ranges.length === 0) return wholeJson
  if (acceptsOnlyProtobuf(accept)) return { ...wholeJson, encoding: 'protobuf' }
  throw notAcceptable([...formsOfText, protobufType])
}

/** Returns the name by which a client asks for metadata alone, where metadata is the form of the answer. */
export function nameOfMetadata(accept: string | undefined): string | undefined {
  const range = parseAccept(accept).find((each) => representationOf(each) !== undefined)
  return range !== undefined && representationOf(range)?.view.kind === 'metadata'
    ? range.parameters.get('as')
    : undefined
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

function includedInRows(includeObject: string): TableView['rows'] {
  const rows = Object.hasOwn(rowsOf, includeObject) ? rowsOf[includeObject] : undefined
  if (rows !== undefined) return rows
  const why = `includeObject: Invalid value: ${JSON.stringify(includeObject)}: must be 'Metadata', 'Object', 'None', or empty`
  throw badRequest(`Unable to convert to Table as requested: ${why}`)
}

function representationOf({ type, parameters }: MediaRange): Representation | undefined {
  const encoding = encodings.get(type)
  const view = viewOf(parameters)
  return encoding === undefined || view === undefined ? undefined : { encoding, view }
}

/** Text forms by media type, wildcards included. A Map: the type is the client's, and `constructor` is in every object. */
const encodings: ReadonlyMap<string, Encoding> = new Map([
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/*', 'json'],
  ['*/*', 'json'],
])

/** Returns the view that the parameters `as`, `g` and `v` ask for; undefined for an unknown one, and for another stream than a watch. */
function viewOf(parameters: MediaRange['parameters']): View | undefined {
  if ((parameters.get('stream') ?? 'watch') !== 'watch') return undefined
  const as = parameters.get('as')
  if (as === undefined) return wholeJson.view
  const apiVersion = metaVersions.find((each) => each === `${parameters.get('g')}/${parameters.get('v')}`)
  if (apiVersion === undefined) return undefined
  if (as === 'Table') return { kind: 'table', apiVersion, rows: 'metadata' }
  return as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList'
    ? { kind: 'metadata', apiVersion }
    : undefined
}

const metaVersions: readonly MetaVersion[] = ['meta.k8s.io/v1', 'meta.k8s.io/v1beta1']

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
