import { migrateToEtcd, migrateToSqlite } from '../../api/store/etcd/migrate.ts'
import { StoreError } from '../../api/store/index.ts'
import { ensureClusterCa } from '../../pki/index.ts'
import { dataPaths, ensureServiceAccountSigner } from '../composition/cluster-files.ts'
import { fingerprint, readEtcdAccess } from '../composition/compose-store.ts'
import type { Options } from '../context.ts'

export type StoreName = 'sqlite' | 'etcd'

/**
 * Copies the state of the stopped server between the store in its data directory and etcd. Returns the number of keys. Throws StoreError,
 * `migration-refused` among others.
 */
export async function migrate(
  { values: { app, api } }: Options,
  { from, to }: { readonly from: StoreName; readonly to: StoreName },
  onProgress: (done: number, all: number) => void,
): Promise<number> {
  if (from === to) throw new StoreError('migration-refused', `--from and --to both name ${to}`)
  if (api.etcdServers === undefined) throw new StoreError('migration-refused', '--etcd-servers is missing')
  const paths = dataPaths(app.dataDir)
  const ca = await ensureClusterCa(paths.pki)
  const signer = await ensureServiceAccountSigner(app.dataDir, api.serviceAccountIssuer)
  const authority = fingerprint({ caPem: ca.certPem, serviceAccountKeyPem: signer.keyPem })
  const place = { prefix: api.etcdPrefix, dialect: api.dialect, authority }
  const migration = { sqlite: paths.store, connection: await readEtcdAccess(api), place, onProgress }
  return to === 'etcd' ? migrateToEtcd(migration) : migrateToSqlite(migration)
}
