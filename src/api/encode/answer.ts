import { stringify as toYaml } from 'yaml'
import type { JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import type { Representation } from '../negotiate/accept.ts'
import { apiVersionOf, type Resource } from '../resources/resource.ts'
import type { Answer } from '../verbs/verb-context.ts'
import { toTable } from './table.ts'

export interface EncodedAnswer {
  readonly httpCode: number
  readonly contentType: string
  readonly body: string
  /** Further ones, or others than usual. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Puts a verb's answer into the form the client accepts. JSON, the hot path, is put together from texts and never parsed. */
export function encodeAnswer(answer: Answer, representation: Representation, now: Date): EncodedAnswer {
  const httpCode = answer.kind === 'list' ? 200 : answer.httpCode
  const json = () => (answer.kind === 'list' ? listText(answer) : answer.text)
  if (representation === 'yaml') {
    return { httpCode, contentType: 'application/yaml', body: toYaml(JSON.parse(json())) }
  }
  const isTable = representation === 'table' && answer.kind !== 'document'
  return { httpCode, contentType: 'application/json', body: isTable ? tableText(answer, now) : json() }
}

function listText(answer: Answer & { kind: 'list' }): string {
  const head = JSON.stringify({
    kind: `${answer.resource.kind}List`,
    apiVersion: apiVersionOf(answer.resource),
    metadata: listMetadata(answer),
  })
  return `${head.slice(0, -1)},"items":[${answer.items.join(',')}]}`
}

function tableText(answer: Exclude<Answer, { kind: 'document' }>, now: Date): string {
  const texts = answer.kind === 'list' ? answer.items : [answer.text]
  const documents = texts.map((text) => JSON.parse(text) as ApiDocument)
  const metadata = answer.kind === 'list' ? listMetadata(answer) : itemMetadata(documents[0])
  return JSON.stringify(toTable(answer.resource, documents, { now, metadata, hasColumns: true }))
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
  now: Date,
  hasColumns: boolean,
): JsonObject {
  return toTable(resource, [document], { now, metadata: itemMetadata(document), hasColumns })
}
