import protobuf from 'protobufjs/light.js'

/** A whole number as protobufjs gives it: one of 64 bits comes as an object. */
export type WireInteger = number | { toNumber(): number }

interface WireHeader {
  readonly revision: WireInteger
}

export interface WireKeyValue {
  readonly key: Uint8Array
  readonly createRevision: WireInteger
  readonly modRevision: WireInteger
  readonly value: Uint8Array
}

export interface RangeRequest {
  readonly key: Uint8Array
  readonly rangeEnd?: Uint8Array
  readonly limit?: number
  readonly revision?: number
  readonly countOnly?: boolean
}

export interface RangeResponse {
  readonly header: WireHeader
  readonly kvs: readonly WireKeyValue[]
  readonly more: boolean
}

/** A compare with the revision of the last change of a key; 0 means that the key does not exist. */
export interface RevisionCompare {
  readonly target: typeof compareModRevision
  readonly key: Uint8Array
  readonly modRevision: number
}

/** The value of `Compare.target` for the revision of the last change; `Compare.result` stays 0, "equal". */
const compareModRevision = 2

export function equalModRevision(key: Uint8Array, modRevision: number): RevisionCompare {
  return { target: compareModRevision, key, modRevision }
}

export type TxnOperation =
  | { readonly requestPut: { readonly key: Uint8Array; readonly value: Uint8Array } }
  | { readonly requestDeleteRange: { readonly key: Uint8Array } }

export function putOf(key: Uint8Array, value: string): TxnOperation {
  return { requestPut: { key, value: Buffer.from(value) } }
}

export function deletionOf(key: Uint8Array): TxnOperation {
  return { requestDeleteRange: { key } }
}

export interface TxnRequest {
  readonly compare: readonly RevisionCompare[]
  readonly success: readonly TxnOperation[]
}

export interface TxnResponse {
  readonly header: WireHeader
  readonly succeeded: boolean
}

export interface WatchRequest {
  readonly createRequest: {
    readonly key: Uint8Array
    readonly rangeEnd: Uint8Array
    readonly startRevision: number
    readonly progressNotify: boolean
    readonly fragment: boolean
  }
}

export interface WireEvent {
  /** 0 for a put, 1 for a deletion. */
  readonly type: number
  readonly kv: WireKeyValue
}

export interface WatchResponse {
  readonly header: WireHeader
  readonly created: boolean
  readonly canceled: boolean
  readonly compactRevision: WireInteger
  readonly cancelReason: string
  /** More events of the same response follow. */
  readonly fragment: boolean
  readonly events: readonly WireEvent[]
}

export interface StatusResponse {
  readonly version: string
}

export interface Credentials {
  readonly name: string
  readonly password: string
}

type Fields = Readonly<Record<string, readonly [type: string, id: number]>>

function message(fields: Fields, oneofs: Readonly<Record<string, readonly string[]>> = {}): protobuf.IType {
  return {
    fields: Object.fromEntries(
      Object.entries(fields).map(([name, [type, id]]) => {
        const rule = type.startsWith('repeated ') ? { rule: 'repeated' } : {}
        return [name, { type: type.replace('repeated ', ''), id, ...rule }]
      }),
    ),
    oneofs: Object.fromEntries(Object.entries(oneofs).map(([name, members]) => [name, { oneof: [...members] }])),
  }
}

/** The messages of etcd's API version 3 that the store uses, each with the fields that it reads or writes. */
const root = protobuf.Root.fromJSON({
  nested: {
    ResponseHeader: message({ revision: ['int64', 3] }),
    KeyValue: message({
      key: ['bytes', 1],
      createRevision: ['int64', 2],
      modRevision: ['int64', 3],
      value: ['bytes', 5],
    }),
    RangeRequest: message({
      key: ['bytes', 1],
      rangeEnd: ['bytes', 2],
      limit: ['int64', 3],
      revision: ['int64', 4],
      countOnly: ['bool', 9],
    }),
    RangeResponse: message({
      header: ['ResponseHeader', 1],
      kvs: ['repeated KeyValue', 2],
      more: ['bool', 3],
    }),
    PutRequest: message({ key: ['bytes', 1], value: ['bytes', 2] }),
    DeleteRangeRequest: message({ key: ['bytes', 1] }),
    RequestOp: message(
      { requestPut: ['PutRequest', 2], requestDeleteRange: ['DeleteRangeRequest', 3] },
      { request: ['requestPut', 'requestDeleteRange'] },
    ),
    Compare: message(
      { target: ['int32', 2], key: ['bytes', 3], modRevision: ['int64', 6] },
      // A member of the union is sent also when it is 0: the key does not exist.
      { targetUnion: ['modRevision'] },
    ),
    TxnRequest: message({ compare: ['repeated Compare', 1], success: ['repeated RequestOp', 2] }),
    TxnResponse: message({ header: ['ResponseHeader', 1], succeeded: ['bool', 2] }),
    CompactionRequest: message({ revision: ['int64', 1] }),
    CompactionResponse: message({ header: ['ResponseHeader', 1] }),
    WatchCreateRequest: message({
      key: ['bytes', 1],
      rangeEnd: ['bytes', 2],
      startRevision: ['int64', 3],
      progressNotify: ['bool', 4],
      fragment: ['bool', 8],
    }),
    WatchRequest: message({ createRequest: ['WatchCreateRequest', 1] }, { request: ['createRequest'] }),
    Event: message({ type: ['int32', 1], kv: ['KeyValue', 2] }),
    WatchResponse: message({
      header: ['ResponseHeader', 1],
      created: ['bool', 3],
      canceled: ['bool', 4],
      compactRevision: ['int64', 5],
      cancelReason: ['string', 6],
      fragment: ['bool', 7],
      events: ['repeated Event', 11],
    }),
    AuthenticateRequest: message({ name: ['string', 1], password: ['string', 2] }),
    AuthenticateResponse: message({ token: ['string', 2] }),
    StatusRequest: message({}),
    StatusResponse: message({ version: ['string', 2] }),
  },
})

/** One call of etcd's API: its path and how its messages become bytes. */
export interface Method<Request, Response> {
  readonly path: string
  /** The name in metrics. */
  readonly operation: string
  readonly encode: (request: Request) => Buffer
  readonly decode: (bytes: Buffer) => Response
}

function method<Request extends object, Response>(
  path: string,
  operation: string,
  names: readonly [request: string, response: string],
): Method<Request, Response> {
  const [request, response] = names.map((name) => root.lookupType(name))
  if (request === undefined || response === undefined) throw new TypeError(`${path} has no messages`)
  return {
    path,
    operation,
    encode: (value) => Buffer.from(request.encode(value as protobuf.Message).finish()),
    decode: (bytes) => response.decode(bytes) as unknown as Response,
  }
}

/** The calls of etcd's API version 3 that the store makes. */
export const etcdMethods = {
  range: method<RangeRequest, RangeResponse>('/etcdserverpb.KV/Range', 'range', ['RangeRequest', 'RangeResponse']),
  txn: method<TxnRequest, TxnResponse>('/etcdserverpb.KV/Txn', 'txn', ['TxnRequest', 'TxnResponse']),
  compact: method<{ revision: number }, unknown>('/etcdserverpb.KV/Compact', 'compact', [
    'CompactionRequest',
    'CompactionResponse',
  ]),
  watch: method<WatchRequest, WatchResponse>('/etcdserverpb.Watch/Watch', 'watch', ['WatchRequest', 'WatchResponse']),
  authenticate: method<Credentials, { readonly token: string }>('/etcdserverpb.Auth/Authenticate', 'authenticate', [
    'AuthenticateRequest',
    'AuthenticateResponse',
  ]),
  status: method<object, StatusResponse>('/etcdserverpb.Maintenance/Status', 'status', [
    'StatusRequest',
    'StatusResponse',
  ]),
} as const

export function toNumber(value: WireInteger): number {
  return typeof value === 'number' ? value : value.toNumber()
}
