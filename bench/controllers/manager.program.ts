// Our controller manager as a process of its own: `node manager.program.ts KUBECONFIG`.
import { ApiClient, loadKubeconfig } from '../../src/client/index.ts'
import { createControllerManager, createControllerMetrics } from '../../src/controllers/index.ts'
import { createDialect } from '../../src/model/dialect.ts'
import { createMetrics, silentLogger } from '../../src/observe/index.ts'
import { autoscalingDefaults, noSigning } from '../../test/helpers/controller-settings.ts'

const manager = createControllerManager({
  client: new ApiClient(await loadKubeconfig(process.argv[2] ?? '')),
  dialect: createDialect('kubernetes'),
  controllers: [
    'endpoints',
    'endpointslice',
    'endpointslice-mirroring',
    'replicaset',
    'deployment',
    'garbage-collector',
    'namespace',
  ],
  clusterCidrs: [],
  nodeGraceMs: () => 40_000,
  rootCaPem: 'the CA',
  eventTtlMs: () => 3_600_000,
  autoscaling: autoscalingDefaults,
  signing: noSigning,
  metrics: createControllerMetrics(createMetrics()),
  log: silentLogger,
})
await manager.start({ signal: AbortSignal.timeout(120_000) })
