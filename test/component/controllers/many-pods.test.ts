import { controllerNames } from '../../../src/controllers/controller-names.ts'
import { createControllerManager } from '../../../src/controllers/index.ts'
import { createDialect } from '../../../src/model/dialect.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { startTestServer } from '../../helpers/api-server.ts'
import { autoscalingDefaults, noSigning } from '../../helpers/controller-settings.ts'
import { clientOfServer, freshControllerMetrics } from '../../helpers/controllers.ts'
import { describeManyPods } from '../../helpers/many-pods.ts'

/** `test/long` has the same with 5,000. */
describeManyPods({
  pods: 150,
  changes: 3,
  start: async () => {
    const server = await startTestServer({ sweepsNamespaces: false })
    const client = clientOfServer(server)
    const manager = createControllerManager({
      client,
      dialect: createDialect('kubernetes'),
      controllers: controllerNames,
      clusterCidrs: [],
      nodeGraceMs: () => 3_600_000,
      rootCaPem: 'the CA',
      eventTtlMs: () => 3_600_000,
      autoscaling: autoscalingDefaults,
      signing: noSigning,
      metrics: freshControllerMetrics(),
      log: silentLogger,
    })
    await manager.start({ signal: AbortSignal.timeout(60_000) })
    const stop = async () => {
      await manager.stop({ signal: AbortSignal.timeout(10_000) })
      await server.stop()
    }
    return { client, stop }
  },
})
