import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { EncodedAnswer } from '../encode/answer.ts'
import { acceptsJson, acceptsOneOf } from '../negotiate/accept.ts'
import type { Registry } from '../resources/registry.ts'
import type { Resource } from '../resources/resource.ts'
import { notAcceptable, unknownPath } from '../status.ts'
import { groupVersionPath } from './operations.ts'
import { toVersion2 } from './version-2.ts'
import { toVersion2Protobuf, version2ProtobufType, version2ProtobufTypes } from './version-2-protobuf.ts'
import { toVersion3 } from './version-3.ts'

interface CachedDocument {
  /** The resources of the document; when they change, the server builds the document anew. */
  readonly resources: readonly Resource[]
  readonly text: string
  readonly hash: string
}

/** Builds the documents under `/openapi`: each at its first request. It keeps a document until its resources change. */
export class OpenApiDocuments {
  readonly #registry: Registry
  readonly #dialect: Dialect['name']
  readonly #cache = new Map<string, CachedDocument>()
  #protobuf: { readonly document: CachedDocument; readonly bytes: Uint8Array } | undefined

  constructor(registry: Registry, dialect: Dialect['name']) {
    this.#registry = registry
    this.#dialect = dialect
  }

  /** Answers `/openapi/{...path}`. Throws a 404, and a 406 for a form of v2 that is neither JSON nor protobuf. */
  answer(path: readonly string[], hash: string | null, headers: IncomingHttpHeaders): EncodedAnswer {
    const [version, ...rest] = path
    if (version === 'v2' && rest.length === 0) {
      const document = this.#document('v2', this.#registry.all(), toVersion2)
      if (acceptsOneOf(headers.accept, version2ProtobufTypes)) return this.#answerProtobuf(document, headers)
      if (!acceptsJson(headers.accept)) throw notAcceptable(['application/json', version2ProtobufType])
      return answerDocument(document, null, headers)
    }
    if (version !== 'v3') throw unknownPath()
    if (rest.length === 0) return json(JSON.stringify({ paths: this.#paths() }))
    const name = rest.join('/')
    const resources = this.#groups().get(name)
    if (resources === undefined) throw unknownPath()
    const document = this.#document(name, resources, toVersion3)
    if (hash !== null && hash !== document.hash) return redirect(`/openapi/v3/${name}?hash=${document.hash}`)
    return answerDocument(document, hash, headers)
  }

  /** Answers v2 as protobuf, the only form of it that kubectl and Helm request. */
  #answerProtobuf(document: CachedDocument, headers: IncomingHttpHeaders): EncodedAnswer {
    const answer = answerDocument({ ...document, hash: `${document.hash}-protobuf` }, null, headers)
    if (answer.httpCode === 304) return answer
    if (this.#protobuf?.document !== document)
      this.#protobuf = { document, bytes: toVersion2Protobuf(JSON.parse(document.text) as JsonObject) }
    return { ...answer, contentType: version2ProtobufType, body: this.#protobuf.bytes }
  }

  #groups(): ReadonlyMap<string, readonly Resource[]> {
    return Map.groupBy(this.#registry.all(), groupVersionPath)
  }

  #paths(): JsonObject {
    const entries = [...this.#groups()].map(([name, resources]) => {
      const { hash } = this.#document(name, resources, toVersion3)
      return [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` }]
    })
    return Object.fromEntries(entries)
  }

  #document(
    name: string,
    resources: readonly Resource[],
    make: (from: readonly Resource[], dialect: Dialect['name']) => JsonObject,
  ): CachedDocument {
    const cached = this.#cache.get(name)
    if (cached !== undefined && isSame(cached.resources, resources)) return cached
    const text = JSON.stringify(make(resources, this.#dialect))
    const document = { resources, text, hash: createHash('sha256').update(text).digest('hex').slice(0, 32) }
    this.#cache.set(name, document)
    return document
  }
}

/** Compares resources by identity: a resource never changes, and a changed custom resource is a new one. */
function isSame(a: readonly Resource[], b: readonly Resource[]): boolean {
  return a.length === b.length && a.every((resource, index) => resource === b[index])
}

function json(body: string, headers: Readonly<Record<string, string>> = {}): EncodedAnswer {
  return { httpCode: 200, contentType: 'application/json', body, headers }
}

/** Answers with a document. One whose hash is in its URL never changes. */
function answerDocument(
  { text, hash }: CachedDocument,
  asked: string | null,
  headers: IncomingHttpHeaders,
): EncodedAnswer {
  const etag = `"${hash}"`
  const lifetime = asked === null ? 'no-cache, private' : 'public, immutable, max-age=31536000'
  const cacheHeaders = { etag, 'cache-control': lifetime }
  if (headers['if-none-match'] === etag) {
    return { httpCode: 304, contentType: 'application/json', body: '', headers: cacheHeaders }
  }
  return json(text, cacheHeaders)
}

function redirect(location: string): EncodedAnswer {
  return { httpCode: 301, contentType: 'application/json', body: '', headers: { location } }
}
