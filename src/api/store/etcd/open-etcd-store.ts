import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { DialectName } from '../../../model/dialect.ts'
import type { EmbeddedStoreOptions } from '../embedded-store.ts'
import type { Store } from '../store.ts'
import { StoreError } from '../store-error.ts'
import { EtcdClient, type EtcdConnection } from './etcd-client.ts'
import { EtcdCallError, toStoreError } from './etcd-error.ts'
import { EtcdStore } from './etcd-store.ts'
import { KeySpace, rangeOf } from './key-space.ts'
import { loadPastState, textOf } from './load-etcd.ts'
import { deletionOf, equalModRevision, etcdMethods, putOf, type TxnOperation } from './messages.ts'
import { Replica } from './replica.ts'

/** The place of one cluster in etcd, and what must agree there. */
export interface EtcdPlace {
  /** The place of the cluster's keys in etcd, such as `/platnet`. */
  readonly prefix: string
  readonly dialect: DialectName
  /** The fingerprint of that which all servers of the cluster must share beside the state: its certificate authority and keys. */
  readonly authority: string
}

interface EtcdStoreOptions extends EtcdPlace, Pick<EmbeddedStoreOptions, 'log' | 'onCommit' | 'maxHistoryLength'> {
  readonly connection: EtcdConnection
  /** How long a call is tried at all members in turn; 10,000 when absent. */
  readonly patienceMs?: number
}

const format = 1
/** The time limit for the events of the last revisions: a slow machine may start many servers at once. */
const firstEventsMs = 45_000
/** A server that was killed leaves its fence; after this time it cannot be in use. */
const staleFenceMs = 24 * 3600_000

/** The identity of a cluster, as JSON. */
const identityShape = z.object({
  format: z.int(),
  dialect: z.string(),
  authority: z.string(),
  revisionOffset: z.int().min(0).default(0),
})

/**
 * Opens the state of a cluster in etcd; the first server makes it. Throws StoreError `store-unreachable`, `dialect-mismatch`,
 * `schema-too-new`, `cluster-mismatch`.
 */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  const client = new EtcdClient(options.connection, options.patienceMs)
  const server = randomUUID().slice(0, 8)
  try {
    await assertUsable(client)
    const keys = await claimPlace(client, options)
    const fence = await makeFence(client, keys, server)
    const { state, newest } = await loadPastState(client, keys)
    const onApplied = () => store.keepShort()
    const replica = new Replica({ client, keys, state, fence, onApplied, log: options.log })
    const store = new EtcdStore({ ...options, client, keys, replica, server })
    await follow(replica, Math.max(newest, fence.revision))
    return store
  } catch (thrown) {
    client.close()
    throw thrown instanceof EtcdCallError ? toStoreError(thrown) : thrown
  }
}

/** Starts the feed and waits until it has shown the revision; ends it otherwise, as a feed must not ask a closed client. */
async function follow(replica: Replica, revision: number): Promise<void> {
  replica.feed.start()
  try {
    await replica.reached(revision, 'any', firstEventsMs)
  } catch (thrown) {
    await replica.close()
    throw thrown
  }
}

/** Checks the version of the first member that answers. */
export async function assertUsable(client: EtcdClient): Promise<void> {
  const { version } = await client.untilAnswered(etcdMethods.status, {})
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 3 || (major === 3 && minor >= 4)) return
  throw new StoreError('store-unreachable', `etcd ${version} at ${client.endpoint} is too old`, {
    remedy: 'run etcd 3.4 or later',
  })
}

/** Takes an empty place for this cluster, or checks that it is this cluster's. */
async function claimPlace(client: EtcdClient, options: EtcdPlace): Promise<KeySpace> {
  const keys = new KeySpace(options.prefix)
  const { kvs } = await client.untilAnswered(etcdMethods.range, { ...keys.all, limit: 1 })
  if (kvs.length === 0) {
    await client.untilAnswered(etcdMethods.txn, {
      compare: [equalModRevision(keys.identity, 0)],
      success: [putIdentity(keys, options, 0)],
    })
  }
  return readPlace(client, options)
}

/** Finds the keys of this cluster. Throws StoreError where another cluster, another program or an unfinished migration has them, or none. */
export async function readPlace(client: EtcdClient, options: EtcdPlace): Promise<KeySpace> {
  const { prefix } = options
  const keys = new KeySpace(prefix)
  const found = await client.untilAnswered(etcdMethods.range, { key: keys.identity })
  const identity = identityShape.safeParse(parseJson(found.kvs[0] && textOf(found.kvs[0].value)))
  if (!identity.success) {
    const { kvs } = await client.untilAnswered(etcdMethods.range, { key: keys.migration })
    throw kvs.length > 0 ? unfinished(prefix) : foreign(prefix)
  }
  assertSame(identity.data, options)
  return new KeySpace(prefix, identity.data.revisionOffset)
}

function foreign(prefix: string): StoreError {
  return new StoreError(
    'cluster-mismatch',
    `etcd holds no state of Platnet below ${prefix}/, or that of another program`,
    {
      remedy: 'check --etcd-prefix',
    },
  )
}

function unfinished(prefix: string): StoreError {
  return new StoreError('cluster-mismatch', `a migration to ${prefix}/ did not finish`, {
    remedy: `remove what it left (etcdctl del --prefix ${prefix}/) and migrate again`,
  })
}

export function putIdentity(keys: KeySpace, { dialect, authority }: EtcdPlace, revisionOffset: number): TxnOperation {
  return putOf(keys.identity, JSON.stringify({ format, dialect, authority, revisionOffset }))
}

function assertSame(identity: z.infer<typeof identityShape>, { dialect, authority, prefix }: EtcdPlace): void {
  if (identity.format > format) {
    throw new StoreError('schema-too-new', `a newer version of Platnet wrote the state below ${prefix}/`)
  }
  if (identity.dialect !== dialect) {
    const message = `the cluster below ${prefix}/ has the dialect ${identity.dialect}, not ${dialect}`
    throw new StoreError('dialect-mismatch', message, { remedy: `start with --dialect ${identity.dialect}` })
  }
  if (identity.authority !== authority) {
    throw new StoreError('cluster-mismatch', `the cluster below ${prefix}/ has another certificate authority`, {
      remedy:
        'copy ca.crt, ca.key and service-account.key of the folder pki from the first server to this one, or choose another --etcd-prefix',
    })
  }
}

/** Makes this server's fence, and removes those of servers of the past. */
async function makeFence(
  client: EtcdClient,
  keys: KeySpace,
  server: string,
): Promise<{ readonly key: string; readonly revision: number }> {
  const fences = await client.untilAnswered(etcdMethods.range, rangeOf(keys.fences))
  const nowMs = Date.now()
  const stale = fences.kvs.filter(({ value }) => !(nowMs - Date.parse(textOf(value)) < staleFenceMs)).slice(0, 100)
  const key = keys.fences + server
  const { header } = await client.untilAnswered(etcdMethods.txn, {
    compare: [],
    success: [
      ...stale.map(({ key: staleKey }) => deletionOf(staleKey)),
      putOf(Buffer.from(key), new Date(nowMs).toISOString()),
    ],
  })
  return { key, revision: keys.revisionOf(header.revision) }
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
