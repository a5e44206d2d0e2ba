import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findSocketOwner, runProgram } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import { cleanupCni } from '../../node/cni/index.ts'
import { ClusterDnsAddresses } from '../../node/dns/index.ts'
import { cleanupHaproxy } from '../../node/ingress/index.ts'
import { cleanupRoutes } from '../../node/routes/index.ts'
import { cleanupRules } from '../../node/rules/index.ts'
import { silentLogger } from '../../observe/index.ts'
import { packagedPluginDirs, shippedCniDir } from '../composition/cni-plugins.ts'
import { endPodsOfNode, podsOfNode } from '../composition/pod-remains.ts'
import type { Options } from '../context.ts'
import { findClaimant } from '../lifecycle/claim-parts.ts'
import { isAgentThere } from './ask-agent.ts'

export { podsOfNode }

export interface HostCleanup {
  /** One line for each thing that was removed. */
  readonly lines: readonly string[]
  /** One line for each thing that stays on purpose, with how to remove it. */
  readonly left: readonly string[]
  readonly failures: readonly string[]
}

export interface CleanupWishes {
  /** Pods go on running, with their networks, the bridge and the CNI list. */
  readonly keepPods: boolean
}

/** An agent that answers on a control socket, or has parts of this network namespace. */
export interface RunningAgent {
  /** Whether it writes the rules that a cleanup here would remove. */
  readonly isOfThisNetwork: boolean
  /** Undefined where the process cannot be seen from here. */
  readonly pid: number | undefined
}

/** Finds the agent that answers on a control socket, else one that has this network namespace; undefined where there is none. */
export async function findRunningAgent(controlSocket: string): Promise<RunningAgent | undefined> {
  if (!(await isAgentThere(controlSocket))) {
    const found = await findClaimant()
    return found && { isOfThisNetwork: true, pid: found.holder.pid }
  }
  const owner = await findSocketOwner(controlSocket)
  return { isOfThisNetwork: owner !== undefined, pid: owner?.pid }
}

/** A step of the cleanup; a failed one keeps none of the others from its work. */
type Step = () => Promise<Partial<HostCleanup>>

/** Removes everything of Platnet from this host but the data directory; needs no running daemon and no state. */
export async function cleanupHost(options: Options, { keepPods }: CleanupWishes): Promise<HostCleanup> {
  const { clusterDns } = options.values.dns
  const steps: readonly Step[] = [
    ...(keepPods ? [] : [() => endPods(options)]),
    removeRules,
    async () => ({ lines: await cleanupRoutes() }),
    async () => ({ lines: await cleanupHaproxy() }),
    async () => ({ lines: await new ClusterDnsAddresses(clusterDns, silentLogger).remove() }),
    ...(keepPods ? [] : [() => removeNetwork(options)]),
    async () => ({ left: describeLeft(options) }),
  ]
  const results: Partial<HostCleanup>[] = []
  for (const step of steps) {
    results.push(await step().catch((error: unknown) => ({ failures: [describeError(error)] })))
  }
  return {
    lines: results.flatMap(({ lines = [] }) => lines),
    left: results.flatMap(({ left = [] }) => left),
    failures: results.flatMap(({ failures = [] }) => failures),
  }
}

async function endPods(options: Options): Promise<Partial<HostCleanup>> {
  const { ended, failures } = await endPodsOfNode(options, runProgram)
  return { lines: ended.map((pod) => `ended the pod ${pod}`), failures: failures.map(describeError) }
}

async function removeRules(): Promise<Partial<HostCleanup>> {
  const { removed, sets, failures } = await cleanupRules(silentLogger, runProgram)
  const lines = removed.map(({ family, flavour, table, chains, hooks }) =>
    table === 'platnet'
      ? `removed the table platnet of nftables (${family})`
      : `removed ${chains} chains and ${hooks} jumps from the ${table} table (${family}, iptables-${flavour})`,
  )
  return { lines: [...lines, ...(sets > 0 ? [`removed ${sets} ipsets`] : [])], failures: failures.map(describeError) }
}

async function removeNetwork({ values: { cni } }: Options): Promise<Partial<HostCleanup>> {
  const { done, left } = await cleanupCni({
    configDir: cni.cniConfDir,
    linkDir: cni.cniBinDir[0],
    linkedFrom: [...packagedPluginDirs, shippedCniDir],
    ipamDir: join(resolve(cni.cniCacheDir), 'networks'),
  })
  return { lines: done, left }
}

function describeLeft(options: Options): readonly string[] {
  const { dataDir } = options.values.app
  const pods = podsOfNode(options)
  return [
    ...(pods.length === 0 ? [] : [`${pods.length} pods with their networks; run cleanup without --keep-pods`]),
    ...(existsSync(dataDir) ? [`the data directory ${dataDir}; rm -r ${dataDir}`] : []),
  ]
}
