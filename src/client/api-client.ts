import { z } from 'zod'
import type { ApiObject } from '../model/api-object.ts'
import { ApiError, errorFromStatus } from './errors.ts'
import type { ClusterAccess } from './kubeconfig.ts'
import { type ApiResource, type Collection, collectionPath, type ObjectRef, objectPath } from './resource-path.ts'
import { type HttpLimits, type HttpRequest, type HttpResponse, Transport, type TransportOptions } from './transport.ts'

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
}

/** The state of one collection that an informer follows, for metrics. */
export interface FollowedCollection {
  /** The collection in words: `services`. */
  readonly what: string
  readonly leftOutCount: number
  /** 0 while the collection is followed; else the time since the server was last heard. */
  readonly staleMs: number
}

export interface DeleteOptions extends RequestOptions {
  /** Deletes only the object with that uid; another object of that name is a conflict. */
  readonly uid?: string | undefined
  /** The fate of owned objects; the server decides if absent. */
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
  /** The grace period in seconds; 0 deletes the object at once. */
  readonly graceSeconds?: number | undefined
}

/** A JSON merge patch (RFC 7396) or JSON patch (RFC 6902). */
export type Patch =
  | { readonly kind: 'merge'; readonly patch: Readonly<Record<string, unknown>> }
  | { readonly kind: 'json'; readonly patch: readonly Readonly<Record<string, unknown>>[] }

const patchContentTypes = { merge: 'application/merge-patch+json', json: 'application/json-patch+json' } as const

const maxBodyBytes = 64 * 1024 * 1024
const defaultTimeoutMs = 30_000

const apiObjectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
})

/** Typed requests to one API server. Every failure is an ApiError. */
export class ApiClient {
  readonly #transport: Transport
  readonly #timeoutMs: number
  readonly #followed = new Set<FollowedCollection>()

  constructor(access: ClusterAccess, options: TransportOptions & { timeoutMs?: number } = {}) {
    this.#transport = new Transport(access, options)
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs
  }

  /** Includes the collection of an informer in what metrics show, until `forget`. */
  report(collection: FollowedCollection): void {
    this.#followed.add(collection)
  }

  forget(collection: FollowedCollection): void {
    this.#followed.delete(collection)
  }

  /** Returns the number of objects that are left out now, per resource. */
  leftOutCounts(): ReadonlyMap<string, number> {
    return this.#largest(({ leftOutCount }) => leftOutCount)
  }

  /** Returns how old the copy of each resource may be, in milliseconds. */
  ages(): ReadonlyMap<string, number> {
    return this.#largest(({ staleMs }) => staleMs)
  }

  #largest(read: (collection: FollowedCollection) => number): ReadonlyMap<string, number> {
    const values = new Map<string, number>()
    for (const each of this.#followed) values.set(each.what, Math.max(values.get(each.what) ?? 0, read(each)))
    return values
  }

  get(ref: ObjectRef, options?: RequestOptions): Promise<ApiObject> {
    return this.#object({ method: 'GET', path: objectPath(ref) }, options)
  }

  create(collection: Collection, object: ApiObject, options?: RequestOptions): Promise<ApiObject> {
    return this.#object({ method: 'POST', path: collectionPath(collection), body: JSON.stringify(object) }, options)
  }

  /** Posts to a subresource, such as a pod's binding; resolves with a Status or an object, which is not validated. */
  createAt(ref: ObjectRef, object: ApiObject, options?: RequestOptions): Promise<unknown> {
    return this.#json({ method: 'POST', path: objectPath(ref), body: JSON.stringify(object) }, options)
  }

  /** Posts a review, such as a TokenReview, which the server answers and does not store; the answer is not validated. */
  review(resource: ApiResource, kind: string, spec: object, options?: RequestOptions): Promise<unknown> {
    const body = JSON.stringify({ apiVersion: `${resource.group}/${resource.version}`, kind, spec })
    return this.#json({ method: 'POST', path: collectionPath({ resource }), body }, options)
  }

  update(ref: ObjectRef, object: ApiObject, options?: RequestOptions): Promise<ApiObject> {
    return this.#object({ method: 'PUT', path: objectPath(ref), body: JSON.stringify(object) }, options)
  }

  patch(ref: ObjectRef, { kind, patch }: Patch, options?: RequestOptions): Promise<ApiObject> {
    const body = JSON.stringify(patch)
    return this.#object({ method: 'PATCH', path: objectPath(ref), body, contentType: patchContentTypes[kind] }, options)
  }

  /** Resolves when the server has accepted the request; an object with finalizers or a grace period disappears later. */
  async delete(ref: ObjectRef, options: DeleteOptions = {}): Promise<void> {
    await this.#json({ method: 'DELETE', path: objectPath(ref), ...deleteBody(options) }, options)
  }

  /** Deletes every object of the collection; objects with finalizers or a grace period disappear later. */
  async deleteCollection(collection: Collection, options: DeleteOptions = {}): Promise<void> {
    await this.#json({ method: 'DELETE', path: collectionPath(collection), ...deleteBody(options) }, options)
  }

  /** Reads any document of the server, such as `/apis`, without validation. */
  getDocument(path: string, options: RequestOptions & Pick<HttpRequest, 'accept'> = {}): Promise<unknown> {
    return this.#json({ method: 'GET', path, accept: options.accept }, options)
  }

  /** Streams a file of the server, of any size. */
  download<T>(path: string, consume: (chunks: AsyncIterable<Buffer>) => Promise<T>): Promise<T> {
    return this.stream({ path }, { timeoutMs: this.#timeoutMs, bounds: 'silence' }, consume)
  }

  /** Sends a GET and streams the body: lists and watches. Throws for a status other than 200. */
  stream<T>(
    asked: Pick<HttpRequest, 'path' | 'query' | 'accept'>,
    limits: HttpLimits,
    consume: (chunks: AsyncIterable<Buffer>) => Promise<T>,
  ) {
    const request: HttpRequest = { method: 'GET', ...asked }
    return this.#transport.exchange(request, limits, async (response) => {
      if (response.status !== 200) throw await readError(request, response)
      return consume(response.chunks)
    })
  }

  /** Closes the idle connections; the client stays usable. */
  close(): void {
    this.#transport.close()
  }

  async #object(request: HttpRequest, options: RequestOptions | undefined): Promise<ApiObject> {
    const parsed = apiObjectSchema.safeParse(await this.#json(request, options))
    if (parsed.success) return parsed.data as ApiObject
    const issue = parsed.error.issues[0]
    throw new ApiError('bad-response', `${request.method} ${request.path}: ${issue?.path.join('.')}: ${issue?.message}`)
  }

  #json(request: HttpRequest, options: RequestOptions = {}): Promise<unknown> {
    const limits: HttpLimits = { signal: options.signal, timeoutMs: this.#timeoutMs, bounds: 'total' }
    return this.#transport.exchange(request, limits, async (response) => {
      if (response.status < 200 || response.status > 299) throw await readError(request, response)
      return parseJson(await readBody(response.chunks), request)
    })
  }
}

async function readError(request: HttpRequest, response: HttpResponse): Promise<ApiError> {
  const body = parseJsonOrNothing(await readBody(response.chunks))
  return errorFromStatus(`${request.method} ${request.path}`, body, response)
}

async function readBody(chunks: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) throw new ApiError('bad-response', `the body is larger than ${maxBodyBytes} bytes`)
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString('utf8')
}

function parseJson(body: string, request: HttpRequest): unknown {
  try {
    return JSON.parse(body)
  } catch {
    // V8's message quotes the body, and the body may be a Secret.
    throw new ApiError('bad-response', `${request.method} ${request.path}: the body is not JSON`)
  }
}

function parseJsonOrNothing(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Returns the body of a delete that asks for anything. */
function deleteBody({ uid, propagation, graceSeconds }: DeleteOptions): { readonly body?: string } {
  const wishes = {
    ...(uid === undefined ? {} : { preconditions: { uid } }),
    ...(propagation === undefined ? {} : { propagationPolicy: propagation }),
    ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
  }
  if (Object.keys(wishes).length === 0) return {}
  return { body: JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', ...wishes }) }
}
