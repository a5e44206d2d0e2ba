import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../../model/api-object.ts'
import { textAt } from '../document.ts'
import type { EncodedAnswer } from '../encode/answer.ts'
import { toProtobuf } from '../encode/protobuf.ts'
import { toYaml } from '../encode/yaml.ts'
import { mediaTypes } from '../negotiate/accept.ts'
import { chooseDiscoveryForm, type DiscoveryForm } from '../negotiate/discovery-form.ts'
import type { Registry } from '../resources/registry.ts'
import { aggregatedParameters, toAggregated } from './aggregated.ts'
import { discover } from './discovery.ts'

interface Page {
  readonly body: string | Uint8Array
  /** The hash of the document, in whatever form it is sent. */
  readonly hash: string
}

/** Builds the discovery documents. It builds each at its first request and keeps it until the served resources or the address change. */
export class DiscoveryDocuments {
  readonly #registry: Registry
  readonly #address: () => string | undefined
  readonly #pages = new Map<string, Page>()
  /** The version and address of which the pages were made. */
  #source: { readonly version: number; readonly address: string | undefined } = { version: -1, address: undefined }

  /** Creates the documents; `address` returns where clients reach the server, undefined when that is unknown. */
  constructor(registry: Registry, address: () => string | undefined) {
    this.#registry = registry
    this.#address = address
  }

  /** Answers a request for a document. Throws a 404 for an unknown path, and a 406 for an unsupported form. */
  answer(path: readonly string[], headers: IncomingHttpHeaders): EncodedAnswer {
    const { form, isAggregated } = chooseDiscoveryForm(headers.accept, path.length === 1)
    const { body, hash } = this.#page(path, form, isAggregated)
    if (!isAggregated) return { httpCode: 200, contentType: mediaTypes[form], body }
    const etag = `"${hash}"`
    const known = { etag, vary: 'Accept, Accept-Encoding', 'cache-control': 'public' }
    const answer = { contentType: `${mediaTypes[form]};${aggregatedParameters}`, headers: known }
    return headers['if-none-match'] === etag
      ? { ...answer, httpCode: 304, body: '' }
      : { ...answer, httpCode: 200, body }
  }

  #page(path: readonly string[], form: DiscoveryForm, isAggregated: boolean): Page {
    const source = { version: this.#registry.version, address: this.#address() }
    if (source.version !== this.#source.version || source.address !== this.#source.address) this.#pages.clear()
    this.#source = source
    const key = [form, isAggregated, ...path].join('/')
    const page = this.#pages.get(key) ?? toPage(this.#document(path, isAggregated), form)
    this.#pages.set(key, page)
    return page
  }

  #document(path: readonly string[], isAggregated: boolean): JsonObject {
    if (isAggregated) return toAggregated(this.#registry.all(), path[0] === 'api')
    return discover(this.#registry, path, this.#address())
  }
}

function toPage(document: JsonObject, form: DiscoveryForm): Page {
  const text = JSON.stringify(document)
  const hash = createHash('sha512').update(text).digest('hex').toUpperCase()
  if (form === 'yaml') return { body: toYaml(text), hash }
  return { body: form === 'json' ? text : protobufOf(document), hash }
}

function protobufOf(document: JsonObject): Uint8Array {
  const [version = '', group = ''] = (textAt(document, 'apiVersion') || 'v1').split('/').toReversed()
  const kind = textAt(document, 'kind')
  const bytes = toProtobuf({ group, version, kind }, document)
  if (bytes === undefined) throw new Error(`${kind} is not in src/api/schema/kinds.json`)
  return bytes
}
