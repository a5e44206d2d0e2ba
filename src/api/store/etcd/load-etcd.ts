import type { StoredEntry } from '../store-entries.ts'
import { StoreState } from '../store-state.ts'
import type { EtcdClient } from './etcd-client.ts'
import { isCompacted } from './etcd-error.ts'
import type { KeySpace } from './key-space.ts'
import { etcdMethods, type RangeResponse, type WatchResponse, type WireKeyValue } from './messages.ts'

/** Keys of one answer: a page of large objects stays far below what a member holds in memory at once. */
const pageSize = 500
/** The newest revisions whose events a server reads at its start, so that watches of other servers go on here. */
const keptRevisions = 10_000
/** etcd may forget more while the state is read. */
const attempts = 5
const firstAnswerMs = 2_000

/** The state that etcd held at one revision; its events follow from there. */
export interface LoadedState {
  readonly state: StoreState
  /** The newest revision when the load began. */
  readonly newest: number
}

/** Reads the state of a past revision, as far back as watches may want to go on from. */
export async function loadPastState(client: EtcdClient, keys: KeySpace): Promise<LoadedState> {
  const newest = await readRevision(client, keys)
  let revision = Math.max(keys.firstRevision, newest - keptRevisions)
  for (let attempt = 1; ; attempt++) {
    try {
      return { state: await readState(client, keys, revision), newest }
    } catch (thrown) {
      if (!isCompacted(thrown) || attempt === attempts) throw thrown
      revision = Math.max(revision, (await readCompactRevision(client, keys, revision)) ?? newest)
    }
  }
}

/** Asks for the oldest revision that can be read: etcd says it only to a watch that begins before it. */
async function readCompactRevision(client: EtcdClient, keys: KeySpace, revision: number): Promise<number | undefined> {
  const { stream } = await client.openWatch()
  return new Promise((resolve) => {
    const end = (found: number | undefined) => {
      clearTimeout(late)
      stream.removeAllListeners()
      stream.on('error', () => {})
      stream.cancel()
      resolve(found)
    }
    const late = setTimeout(() => end(undefined), firstAnswerMs)
    stream.on('error', () => end(undefined))
    stream.on('end', () => end(undefined))
    stream.on('data', ({ created, canceled, compactRevision }: WatchResponse) => {
      if (canceled) end(keys.revisionOf(compactRevision))
      else if (!created) end(undefined)
    })
    const createRequest = {
      ...keys.all,
      startRevision: keys.toWireRevision(revision),
      progressNotify: false,
      fragment: true,
    }
    stream.write({ createRequest })
  })
}

/** Reads the newest state. */
export async function loadNewestState(client: EtcdClient, keys: KeySpace): Promise<StoreState> {
  return readState(client, keys, await readRevision(client, keys))
}

/** Asks for etcd's newest revision, which a majority confirms. */
export async function readRevision(client: EtcdClient, keys: KeySpace): Promise<number> {
  const { header } = await client.untilAnswered(etcdMethods.range, { key: keys.identity, countOnly: true })
  return keys.revisionOf(header.revision)
}

async function readState(client: EtcdClient, keys: KeySpace, revision: number): Promise<StoreState> {
  const state = new StoreState(revision, revision)
  let { key } = keys.all
  for (;;) {
    const page: RangeResponse = await client.untilAnswered(etcdMethods.range, {
      key,
      rangeEnd: keys.all.rangeEnd,
      revision: keys.toWireRevision(revision),
      limit: pageSize,
    })
    const entries = page.kvs.flatMap((kv) => toEntry(keys, kv) ?? [])
    state.apply({ revision, events: entries.map((entry) => ({ kind: 'put', entry, previous: undefined })) })
    const last = page.kvs.at(-1)
    if (!page.more || last === undefined) return state
    key = Buffer.concat([last.key, Buffer.of(0)])
  }
}

/** Returns the entry of the API; undefined for a key by which servers agree. */
export function toEntry(keys: KeySpace, kv: WireKeyValue): StoredEntry | undefined {
  const key = keys.fromEtcd(textOf(kv.key))
  if (key === undefined) return undefined
  const [createRevision, revision] = [keys.revisionOf(kv.createRevision), keys.revisionOf(kv.modRevision)]
  return { key, value: textOf(kv.value), createRevision, revision }
}

export function textOf(bytes: Uint8Array): string {
  // protobufjs gives an absent field as an empty array.
  if (bytes.length === 0) return ''
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
}
