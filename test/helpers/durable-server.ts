import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openStore } from '../../src/api/store/index.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { startTestServer, type TestServer, type TestServerOptions } from './api-server.ts'
import { createAuthority } from './authority.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

/** A server in the kubernetes dialect whose store and certificate outlive it, for clients that must get over its restart. */
export interface DurableServer {
  readonly folder: string
  /** The CA's certificate, which clients check the server by. */
  readonly caFile: string
  start(more?: TestServerOptions): Promise<TestServer>
}

export async function prepareDurableServer(t: TestContext): Promise<DurableServer> {
  const folder = makeTemporaryFolder(t)
  const authority = await createAuthority()
  const { certPem, keyPem } = await authority.issue('server')
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, authority.certPem)
  const start = async (more: TestServerOptions = {}) =>
    startTestServer({
      store: await openStore({ path: join(folder, 'state.db'), dialect: 'kubernetes', log: silentLogger }),
      tls: { certificate: certPem, key: keyPem, clientCa: authority.certPem },
      ...more,
    })
  return { folder, caFile, start }
}
