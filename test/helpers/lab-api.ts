import { createApiServer } from '../../src/api/index.ts'
import type { Store } from '../../src/api/store/index.ts'
import {
  ensureServerTls,
  ensureServiceAccountSigner,
  type ServerIdentity,
} from '../../src/app/composition/cluster-files.ts'
import type { Dialect } from '../../src/model/dialect.ts'
import { createMetrics, silentLogger, silentTracer } from '../../src/observe/index.ts'

interface LabApiParts {
  readonly identity: ServerIdentity
  readonly dialect: Dialect
  /** Outlives the server: the next one started over it goes on. */
  readonly store: Store
  readonly port: number
}

/** A real API server with RBAC for programs in namespaces of their own, its certificates in the data directory as `platnet server` makes them. */
export async function startLabApi({ identity, dialect, store, port }: LabApiParts) {
  const api = createApiServer({
    store,
    dialect,
    serviceCidrs: identity.serviceCidrs,
    nodePortRange: { first: 30000, last: 32767 },
    tls: await ensureServerTls(identity),
    bindAddress: identity.bindAddress,
    advertiseAddress: undefined,
    kubelets: { tls: async () => ({}), addressTypes: ['InternalIP'] },
    port,
    staticTokens: [],
    serviceAccounts: await ensureServiceAccountSigner(identity.dataDir, 'https://issuer.example'),
    sweepsNamespaces: true,
    admitsAccounts: false,
    addsTolerations: false,
    authorizationMode: 'RBAC',
    components: () => [],
    metrics: createMetrics(),
    tracer: silentTracer,
    log: silentLogger,
  })
  await api.start()
  return api
}
