import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, textAt } from '../document.ts'
import {
  type Encoding,
  formsOfText,
  mediaTypes,
  type Representation,
  type TableView,
  type View,
} from '../negotiate/accept.ts'
import type { Answer } from '../request/request.ts'
import { listKindOf, type Resource } from '../resources/resource.ts'
import { notAcceptable } from '../status.ts'
import { toMetadataText, typeMetaOf } from './partial-metadata.ts'
import { toProtobuf } from './protobuf.ts'
import { type TableOptions, toTable, toTableParts } from './table.ts'
import { toYaml, toYamlItem } from './yaml.ts'

export interface EncodedAnswer {
  readonly httpCode: number
  readonly contentType: string
  /** The body: a text; bytes for a binary form; pieces for a long list, so that memory never holds it as a whole. */
  readonly body: string | Uint8Array | Iterable<string>
  /** Whether each piece takes a turn of the event loop: many such responses at once would make one long turn. */
  readonly isLong?: boolean
  /** Additional headers, or replacements of the usual ones. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The usual number of characters of a list written at once. */
const pieceLength = 64 * 1024

/** Encodes a verb's answer in the form that the client accepts. JSON, the hot path, is assembled from texts and never parsed. */
export function encodeAnswer(answer: Answer, { encoding, view }: Representation, now: Date): EncodedAnswer {
  const httpCode = answer.kind === 'list' ? 200 : answer.httpCode
  const isLong = answer.kind === 'list' && answer.isLong
  return { httpCode, contentType: mediaTypes[encoding], body: bodyIn(encoding, answer, view, now), isLong }
}

function bodyIn(encoding: Encoding, answer: Answer, view: View, now: Date): EncodedAnswer['body'] {
  if (encoding === 'protobuf') return protobufBody(answer)
  if (encoding === 'json') return jsonBody(answer, view, now)
  if (view.kind !== 'whole') return reducedYaml(answer, view, now)
  return answer.kind === 'list' ? inPieces(yamlParts(answer)) : toYaml(answer.text)
}

/** Returns Tables and metadata as YAML; what is long stays JSON, which is YAML too. */
function reducedYaml(answer: Answer, view: View, now: Date): EncodedAnswer['body'] {
  const body = jsonBody(answer, view, now)
  return answer.kind === 'list' && answer.isLong ? body : toYaml(textOf(body))
}

/** Returns the protobuf body. Throws a 406 for a kind without a message, and for a long list, whose length would have to precede its first byte. */
function protobufBody(answer: Answer): Uint8Array {
  if (answer.kind === 'list' && answer.isLong) throw notAcceptable(formsOfText)
  const parsed = JSON.parse(textOf(jsonBody(answer, { kind: 'whole' }, new Date(0)))) as JsonObject
  const [version = '', group = ''] = textAt(parsed, 'apiVersion').split('/').toReversed()
  const bytes = toProtobuf({ group, version, kind: textAt(parsed, 'kind') }, parsed)
  if (bytes === undefined) throw notAcceptable(formsOfText)
  return bytes
}

function textOf(body: string | Iterable<string>): string {
  return typeof body === 'string' ? body : [...body].join('')
}

function jsonBody(answer: Answer, view: View, now: Date): string | Iterable<string> {
  if (answer.kind === 'document') return answer.text
  if (view.kind === 'table') return tableBody(answer, view, now)
  if (answer.kind === 'list') return inPieces(listParts(answer, view))
  return view.kind === 'metadata' ? toMetadataText(answer.text, view.apiVersion) : answer.text
}

/** Joins the parts to pieces large enough for a write. */
function* inPieces(parts: Iterable<string>): Generator<string, void> {
  let piece = ''
  for (const part of parts) {
    piece += part
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  yield piece
}

type ListAnswer = Answer & { kind: 'list' }

function* listParts(answer: ListAnswer, view: View): Generator<string, void> {
  const head = JSON.stringify(listHead(answer, view))
  yield `${head.slice(0, -1)},"items":[`
  let separator = ''
  for (const item of answer.items) {
    yield separator + (view.kind === 'metadata' ? toMetadataText(item, view.apiVersion) : item)
    separator = ','
  }
  yield ']}'
}

function* yamlParts(answer: ListAnswer): Generator<string, void> {
  yield toYaml(JSON.stringify(listHead(answer, { kind: 'whole' })))
  let head = 'items:\n'
  for (const item of answer.items) {
    yield head + toYamlItem(item)
    head = ''
  }
  if (head !== '') yield 'items: []\n'
}

function listHead(answer: ListAnswer, view: View): JsonObject {
  const { kind, apiVersion } = typeMetaOf(answer.resource, view)
  const listKind = listKindOf(view.kind === 'metadata' ? { kind } : answer.resource)
  return { kind: listKind, apiVersion, metadata: listMetadata(answer) }
}

function tableBody(
  answer: Exclude<Answer, { kind: 'document' }>,
  view: TableView,
  now: Date,
): string | Iterable<string> {
  const options = { now, hasColumns: true, view }
  if (answer.kind === 'list') {
    const metadata = listMetadata(answer)
    return inPieces(toTableParts(answer.resource, answer.items, { ...options, metadata }))
  }
  const document = JSON.parse(answer.text) as ApiDocument
  return JSON.stringify(toTable(answer.resource, [document], { ...options, metadata: itemMetadata(document) }))
}

function listMetadata({ revision, continueToken, remainingItemCount }: Answer & { kind: 'list' }): JsonObject {
  return {
    resourceVersion: String(revision),
    ...(continueToken === undefined ? {} : { continue: continueToken }),
    ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
  }
}

function itemMetadata(document: ApiDocument | undefined): JsonObject {
  const resourceVersion = document?.metadata.resourceVersion
  return resourceVersion === undefined ? {} : { resourceVersion }
}

/** Returns the object of a watch event as a Table of one row. */
export function tableEventObject(
  resource: Resource,
  document: ApiDocument,
  options: Omit<TableOptions, 'metadata'>,
): JsonObject {
  return toTable(resource, [document], { ...options, metadata: itemMetadata(document) })
}
