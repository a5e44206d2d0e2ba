import { EngineClient, NetnsMaker, type Run } from '../../host/index.ts'
import { loopbackIpv4 } from '../../model/ip.ts'
import { CniRuntime } from '../../node/cni/index.ts'
import {
  CniNetwork,
  detectCgroups,
  type EndedPods,
  EngineRuntime,
  endPods,
  PodFolders,
  ProcessRuntime,
} from '../../node/pods/index.ts'
import { silentLogger } from '../../observe/index.ts'
import type { Options } from '../context.ts'
import { shippedCniDir } from './cni-plugins.ts'
import { podsFolder } from './compose-pods.ts'

/** The longest time that the programs of a pod have to end after SIGTERM. */
const maxGraceMs = 10_000

/** Ends the pods that the agents of this data directory left, as the agent itself would. */
export async function endPodsOfNode({ values }: Options, run: Run): Promise<EndedPods> {
  const folders = new PodFolders(podsFolder(values))
  const parts = { folders, hostIps: () => [loopbackIpv4] as const, log: silentLogger }
  const network = new CniNetwork(
    new CniRuntime({
      configDir: values.cni.cniConfDir,
      binDirs: [shippedCniDir, ...values.cni.cniBinDir],
      cacheDir: values.cni.cniCacheDir,
      log: silentLogger,
    }),
    silentLogger,
  )
  const namespaces = new NetnsMaker(run)
  const processes = new ProcessRuntime({
    ...parts,
    network,
    cgroups: detectCgroups(),
    view: { shown: [], hidden: [] },
    namespaces,
    run,
  })
  try {
    return await endPods(
      folders,
      ({ engineSocket }) =>
        engineSocket === undefined
          ? processes
          : new EngineRuntime({ ...parts, engine: new EngineClient(engineSocket) }),
      maxGraceMs,
    )
  } finally {
    await namespaces.stop()
  }
}

/** Names the pods of this node, as `namespace/name`. */
export function podsOfNode({ values }: Options): readonly string[] {
  return new PodFolders(podsFolder(values)).readAll().pods.map(({ namespace, name }) => `${namespace}/${name}`)
}
