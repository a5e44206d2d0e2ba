import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiClient, loadKubeconfig } from '../../../src/client/index.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { describeManyPods } from '../../helpers/many-pods.ts'
import { PlatnetServer } from '../../helpers/platnet-server.ts'

describeManyPods({
  pods: 5_000,
  changes: 20,
  start: async () => {
    const flags = [
      '--components=api,controllers',
      '--dialect=kubernetes',
      '--node-monitor-grace-period=1h',
      `--controller-manager-port=${await findFreePort()}`,
    ]
    const server = new PlatnetServer(mkdtempSync(join(tmpdir(), 'plt-test-')), await findFreePort(), {}, flags)
    await server.start()
    const client = new ApiClient(await loadKubeconfig(join(server.dataDir, 'admin.kubeconfig')))
    const stop = async () => {
      client.close()
      await server.stop('SIGKILL')
      rmSync(server.dataDir, { recursive: true, force: true })
    }
    return { client, stop }
  },
})
