import { stringify as toYaml } from 'yaml'
import type { JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import { isTable, type Representation, type TableForm } from '../negotiate/accept.ts'
import type { Resource } from '../resources/resource.ts'
import type { Answer } from '../verbs/verb-context.ts'
import { toMetadataText, typeMetaOf } from './partial-metadata.ts'
import { toTable } from './table.ts'

export interface EncodedAnswer {
  readonly httpCode: number
  readonly contentType: string
  /** A long list comes in pieces, so that it never stands in memory as a whole. */
  readonly body: string | Iterable<string>
  /** Further ones, or others than usual. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Characters of a list written at once, as a rule. */
const pieceLength = 64 * 1024

/** Puts a verb's answer into the form the client accepts. JSON, the hot path, is put together from texts and never parsed. */
export function encodeAnswer(answer: Answer, representation: Representation, now: Date): EncodedAnswer {
  const httpCode = answer.kind === 'list' ? 200 : answer.httpCode
  if (representation === 'yaml') {
    const json = answer.kind === 'list' ? [...listPieces(answer, false)].join('') : answer.text
    return { httpCode, contentType: 'application/yaml', body: toYaml(JSON.parse(json)) }
  }
  return { httpCode, contentType: 'application/json', body: jsonBody(answer, representation, now) }
}

function jsonBody(answer: Answer, representation: Representation, now: Date): EncodedAnswer['body'] {
  if (isTable(representation) && answer.kind !== 'document') return tableText(answer, representation, now)
  const isMetadata = representation === 'metadata'
  if (answer.kind === 'list') return listPieces(answer, isMetadata)
  return isMetadata && answer.kind === 'object' ? toMetadataText(answer.text) : answer.text
}

function* listPieces(answer: Answer & { kind: 'list' }, isMetadata: boolean): Generator<string, void> {
  const { kind, apiVersion } = typeMetaOf(answer.resource, isMetadata)
  const head = JSON.stringify({ kind: `${kind}List`, apiVersion, metadata: listMetadata(answer) })
  let piece = `${head.slice(0, -1)},"items":[`
  let separator = ''
  for (const item of answer.items) {
    piece += separator + (isMetadata ? toMetadataText(item) : item)
    separator = ','
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  yield `${piece}]}`
}

function tableText(answer: Exclude<Answer, { kind: 'document' }>, form: TableForm, now: Date): string {
  const texts = answer.kind === 'list' ? [...answer.items] : [answer.text]
  const documents = texts.map((text) => JSON.parse(text) as ApiDocument)
  const metadata = answer.kind === 'list' ? listMetadata(answer) : itemMetadata(documents[0])
  return JSON.stringify(toTable(answer.resource, documents, { now, metadata, hasColumns: true, form }))
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

/** The object of a watch event as a Table of one row. */
export function tableEventObject(
  resource: Resource,
  document: ApiDocument,
  options: { readonly now: Date; readonly hasColumns: boolean; readonly form: TableForm },
): JsonObject {
  return toTable(resource, [document], { ...options, metadata: itemMetadata(document) })
}
