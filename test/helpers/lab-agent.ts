// For programs in namespaces of their own (runIsolated): the composed agent beside an API server in the same process.
import { composeAgent } from '../../src/app/composition/compose-agent.ts'
import { createContext } from '../../src/app/context.ts'
import { Lifecycle } from '../../src/app/lifecycle/lifecycle.ts'
import { optionGroups } from '../../src/app/option-groups.ts'
import { loadOptions } from '../../src/config/index.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { cidrOf, ipOf } from './addresses.ts'

const dataDir = '/run/platnet-test'
const nodeName = 'node-1'

/** What server and agent agree on; the folder is in the private /run. */
export const labNode = {
  kubeconfig: `${dataDir}/admin.kubeconfig`,
  controlSocket: `${dataDir}/control.sock`,
  port: 6443,
  identity: { dataDir, bindAddress: ipOf('0.0.0.0'), serviceCidrs: [cidrOf('10.96.0.0/12')], nodeName },
}

/** Starts an agent with the options of `platnet agent`; `flags` are added to those of the folders. */
export async function startLabAgent(
  flags: Readonly<Record<string, unknown>>,
  writeLog: (line: string) => void = () => {},
): Promise<Lifecycle> {
  const { kubeconfig, controlSocket } = labNode
  const folders = { dataDir, cniConfDir: `${dataDir}/net.d`, cniCacheDir: `${dataDir}/cni` }
  const options = loadOptions(optionGroups, {
    command: 'agent',
    flags: { ...folders, kubeconfig, controlSocket, nodeName, ...flags },
  })
  const context = await createContext(async () => options, {}, { fd: -1, write: writeLog })
  const deadlines = { startDeadlineMs: 30_000, stopDeadlineMs: 30_000 }
  const lifecycle = new Lifecycle(await composeAgent(context), { log: silentLogger, ...deadlines })
  await lifecycle.start()
  return lifecycle
}
