import { createHash, createPublicKey, randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { apiMetrics } from '../../api/metrics.ts'
import { openStore, type Store, StoreError } from '../../api/store/index.ts'
import type { Logger } from '../../observe/index.ts'
import type { AppContext } from '../context.ts'
import { dataPaths } from './cluster-files.ts'

/** The keys of a cluster beside its state: servers with another CA or key would refuse each other's certificates and tokens. */
export interface ClusterAuthority {
  readonly caPem: string
  readonly serviceAccountKeyPem: string
}

/** Opens the store that the options name. The client of etcd is loaded only where it is used. */
export async function composeStore(context: AppContext, authority: ClusterAuthority, log: Logger): Promise<Store> {
  const { app, api } = context.options.values
  const durations = context.metrics.histogram(apiMetrics.commits)
  const observe = (operation: string, durationMs: number) => durations.observe(durationMs / 1000, { operation })
  const options = {
    dialect: api.dialect,
    log,
    onCommit: ({ durationMs }: { readonly durationMs: number }) => observe('commit', durationMs),
  }
  if (api.store === 'sqlite' && api.etcdServers) log.warn('--etcd-servers has no effect without --store etcd')
  if (api.store === 'sqlite') return openStore({ ...options, path: dataPaths(app.dataDir).store })
  const { openEtcdStore } = await import('../../api/store/etcd/open-etcd-store.ts')
  const errors = context.metrics.counter(apiMetrics.storeErrors)
  const onCall = ({ operation, durationMs, failed }: { operation: string; durationMs: number; failed: boolean }) => {
    observe(operation, durationMs)
    if (failed) errors.add(1, { operation })
  }
  const connection = { ...(await readEtcdAccess(api)), onCall }
  return openEtcdStore({ ...options, connection, prefix: api.etcdPrefix, authority: fingerprint(authority) })
}

/** Reads how etcd is reached from the options and their files. Throws StoreError `open-failed`. */
export async function readEtcdAccess(api: AppContext['options']['values']['api']) {
  const [ca, cert, key] = await Promise.all([
    readText('--etcd-cafile', api.etcdCafile),
    readText('--etcd-certfile', api.etcdCertfile),
    readText('--etcd-keyfile', api.etcdKeyfile),
  ])
  const { etcdUsername: name, etcdPasswordFile: file } = api
  const user = name === undefined || file === undefined ? undefined : { name, readPassword: () => readPassword(file) }
  return { servers: rotate(api.etcdServers ?? []), tls: { ca, cert, key }, user }
}

/** Begins the list at a member by chance, so that the servers of a cluster do not all ask the first one. */
function rotate(servers: readonly string[]): readonly string[] {
  const start = randomInt(Math.max(1, servers.length))
  return [...servers.slice(start), ...servers.slice(0, start)]
}

/** Reads the password without the line end that editors add. */
async function readPassword(file: string): Promise<string> {
  const password = (await readText('--etcd-password-file', file))?.replace(/\r?\n$/, '')
  if (password) return password
  throw new StoreError('open-failed', `--etcd-password-file ${file} holds no password`)
}

async function readText(option: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new StoreError('open-failed', `${option} ${file} cannot be read`, { cause })
  }
}

/** Returns a fingerprint of the public halves; etcd keeps it, and a server with others is refused. */
export function fingerprint({ caPem, serviceAccountKeyPem }: ClusterAuthority): string {
  const publicKey = createPublicKey(serviceAccountKeyPem).export({ type: 'spki', format: 'pem' })
  return createHash('sha256').update(caPem.trim()).update(publicKey).digest('hex')
}
