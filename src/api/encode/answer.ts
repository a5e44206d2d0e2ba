import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, textAt } from '../document.ts'
import { formsOfText, isTable, protobufType, type Representation, type TableForm } from '../negotiate/accept.ts'
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
export function encodeAnswer(answer: Answer, representation: Representation, now: Date): EncodedAnswer {
  const httpCode = answer.kind === 'list' ? 200 : answer.httpCode
  const isLong = answer.kind === 'list' && answer.isLong
  if (representation === 'yaml') {
    const body = answer.kind === 'list' ? inPieces(yamlParts(answer)) : toYaml(answer.text)
    return { httpCode, contentType: 'application/yaml', body, isLong }
  }
  if (representation === 'protobuf') return { httpCode, contentType: protobufType, body: protobufBody(answer) }
  return { httpCode, contentType: 'application/json', body: jsonBody(answer, representation, now), isLong }
}

/** Returns the protobuf body. Throws a 406 for a kind without a message, and for a long list, whose length would have to precede its first byte. */
function protobufBody(answer: Answer): Uint8Array {
  if (answer.kind === 'list' && answer.isLong) throw notAcceptable(formsOfText)
  const text = jsonBody(answer, 'json', new Date(0))
  const parsed = JSON.parse(typeof text === 'string' ? text : [...(text as Iterable<string>)].join('')) as JsonObject
  const [version = '', group = ''] = textAt(parsed, 'apiVersion').split('/').toReversed()
  const bytes = toProtobuf({ group, version, kind: textAt(parsed, 'kind') }, parsed)
  if (bytes === undefined) throw notAcceptable(formsOfText)
  return bytes
}

function jsonBody(answer: Answer, representation: Representation, now: Date): EncodedAnswer['body'] {
  if (isTable(representation) && answer.kind !== 'document') return tableBody(answer, representation, now)
  const isMetadata = representation === 'metadata'
  if (answer.kind === 'list') return inPieces(listParts(answer, isMetadata))
  return isMetadata && answer.kind === 'object' ? toMetadataText(answer.text) : answer.text
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

function* listParts(answer: ListAnswer, isMetadata: boolean): Generator<string, void> {
  const head = JSON.stringify(listHead(answer, isMetadata))
  yield `${head.slice(0, -1)},"items":[`
  let separator = ''
  for (const item of answer.items) {
    yield separator + (isMetadata ? toMetadataText(item) : item)
    separator = ','
  }
  yield ']}'
}

function* yamlParts(answer: ListAnswer): Generator<string, void> {
  yield toYaml(JSON.stringify(listHead(answer, false)))
  let head = 'items:\n'
  for (const item of answer.items) {
    yield head + toYamlItem(item)
    head = ''
  }
  if (head !== '') yield 'items: []\n'
}

function listHead(answer: ListAnswer, isMetadata: boolean): JsonObject {
  const { kind, apiVersion } = typeMetaOf(answer.resource, isMetadata)
  const listKind = listKindOf(isMetadata ? { kind } : answer.resource)
  return { kind: listKind, apiVersion, metadata: listMetadata(answer) }
}

function tableBody(answer: Exclude<Answer, { kind: 'document' }>, form: TableForm, now: Date): EncodedAnswer['body'] {
  const options = { now, hasColumns: true, form }
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
