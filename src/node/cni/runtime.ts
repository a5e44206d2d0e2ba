import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isNamespace, runCaptured, runProgram } from '../../host/index.ts'
import type { JsonObject } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import type { PluginRunner, StopSignals } from './call-plugin.ts'
import { addChain, type ChainContext, checkChain, collectChain, deleteChain, statusOfChain } from './chain.ts'
import { EarlierPlugins, findPlugins, type StartedPlugin } from './earlier-plugins.ts'
import { CniError } from './errors.ts'
import { findOnNode, type LeftoverPlaces, releaseLeftovers } from './find-leftovers.ts'
import { type LoadedNetworks, loadNetworks, negotiate } from './load-networks.ts'
import { AttachmentLocks } from './locks.ts'
import { parseCachedNetwork } from './parse-config.ts'
import { parseResult } from './parse-result.ts'
import { type Leftovers, planLeftovers } from './plan.ts'
import { type FoundPlugin, PluginBinaries } from './plugin-binaries.ts'
import { type Attachment, ResultCache } from './result-cache.ts'
import { describeRunning, type RunningCall, RunningCalls } from './running-calls.ts'
import { capabilityArguments, checkSandbox, cniArguments } from './sandbox-arguments.ts'
import type { CniResult, CniSandbox, Network, NetworkConfig } from './types.ts'
import { isAtLeast, since } from './versions.ts'

export interface CniSettings {
  /** Such as /etc/cni/net.d. */
  readonly configDir: string
  /** Such as /opt/cni/bin; the first folder that has a plugin wins. */
  readonly binDirs: readonly string[]
  /** Such as /var/lib/cni. */
  readonly cacheDir: string
  /** One plugin may run so long; 60 s when absent. */
  readonly pluginTimeoutMs?: number
  /** Between attempts while a binary is being replaced; 1 s when absent. */
  readonly busyDelayMs?: number
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Written into our files in the cache, so that GC knows them; `platnet` when absent. */
  readonly owner?: string
  /** Folders of host-local, with a folder a network; `networks` of the cache folder when absent. */
  readonly ipamDirs?: readonly string[]
  /** Who starts iptables when leftovers are looked for; as `run`. */
  readonly runProgram?: typeof runProgram
  /** Who starts the plugins; in this process' own namespaces when absent. */
  readonly run?: PluginRunner
  /** A plugin takes milliseconds; one that still runs at this age is told of. 3 s when absent. */
  readonly slowAfterMs?: number
  /** Called with it then and every 10 s from then on; the log is told when absent. */
  readonly onSlow?: (call: RunningCall) => void
  /** For a command that its user ends. */
  readonly stop?: StopSignals
  readonly log: Logger
}

/** What a container is known by to GC. */
export interface LiveSandbox {
  readonly containerId: string
  readonly ifName: string
}

export interface GcReport {
  /** Attachments that were undone, `network/container/interface`. */
  readonly deleted: readonly string[]
  /** Addresses, chains and files that were taken away beside that, a line each. */
  readonly released: readonly string[]
  readonly errors: readonly unknown[]
}

/** Why making or removing the network of a pod takes long. */
export interface StallReason {
  /** The error of the ADD that is being undone. */
  readonly failure?: string
  /** The slow plugin that is still running. */
  readonly waitsFor?: string
}

/** Whether an attachment's plugins were asked. */
export interface CheckOutcome {
  readonly network: string
  /** False where its list disables CHECK. */
  readonly isAsked: boolean
}

/** Runs CNI plugins for the pods of this node. See README.md for what it promises. */
export class CniRuntime {
  readonly #settings: CniSettings
  readonly #context: ChainContext
  readonly #cache: ResultCache
  readonly #places: LeftoverPlaces
  readonly #locks = new AttachmentLocks()
  readonly #earlier: EarlierPlugins
  readonly #running: RunningCalls
  /** Why ADDs failed that are being undone, by container. */
  readonly #failures = new Map<string, string>()

  constructor(settings: CniSettings) {
    const {
      binDirs,
      run = runCaptured,
      pluginTimeoutMs: timeoutMs = 60_000,
      busyDelayMs = 1000,
      env = process.env,
      onSlow = (call) => this.#logSlow(call),
      slowAfterMs = 3000,
      stop,
    } = settings
    this.#running = new RunningCalls(slowAfterMs, onSlow)
    const callSettings = { run, timeoutMs, busyDelayMs, env, running: this.#running, stop }
    this.#settings = settings
    this.#earlier = new EarlierPlugins(binDirs, callSettings)
    this.#context = { binaries: new PluginBinaries(binDirs, callSettings), binDirs, settings: callSettings }
    this.#cache = new ResultCache(settings.cacheDir, settings.owner ?? 'platnet')
    this.#places = {
      cache: this.#cache,
      ipamDirs: settings.ipamDirs ?? [join(settings.cacheDir, 'networks')],
      run: settings.runProgram ?? runProgram,
    }
  }

  /** Every network of the folder, in order, and why the others are not among them. */
  async networks(): Promise<LoadedNetworks> {
    return loadNetworks(this.#settings.configDir, this.#context.binaries)
  }

  /** Every plugin of the folders, with what it answers to VERSION or why it does not. */
  async plugins(): Promise<readonly FoundPlugin[]> {
    return this.#context.binaries.list()
  }

  /** Those that are at work on a container now, also another process' own. */
  pluginsAtWork(): readonly StartedPlugin[] {
    return findPlugins(this.#context.binDirs)
  }

  /** The first valid one. Throws CniError `no-network` that names each file and its fault. */
  async defaultNetwork(): Promise<Network> {
    const { networks, skipped } = await this.networks()
    const [first] = networks
    if (first) return first
    const reasons = skipped.map(({ reason }) => `; ${reason}`).join('')
    throw new CniError('no-network', `no usable network in ${this.#settings.configDir}${reasons}`, {
      object: this.#settings.configDir,
      remedy: 'put a network list there; "platnet cni doctor" says what is wrong with those it has',
    })
  }

  /**
   * Gives the pod its interface. When it throws, everything was undone as far as the plugins could, and the error is the first one. The
   * signal kills the plugin that runs.
   */
  async add(sandbox: CniSandbox, { signal }: { signal?: AbortSignal } = {}): Promise<CniResult> {
    checkSandbox(sandbox)
    return this.#locks.forContainer(sandbox.containerId, async () => {
      await this.#earlier.ended(sandbox.containerId)
      const network = await this.defaultNetwork()
      const begun = beginAttachment(sandbox, network)
      // Before the first plugin: what a crash interrupts can be undone from it.
      await this.#cache.write(begun)
      try {
        const result = await addChain(this.#context, network, begun, signal)
        const parsed = parseResult(result, network.name)
        await this.#cache.write({ ...begun, result })
        return parsed
      } catch (error) {
        await this.#undo(network, begun, describeError(error))
        throw error
      }
    })
  }

  /**
   * Takes the pod's interface away, by the configuration it was made with. Safe to repeat, and for what was never added. Throws CniError
   * `delete-failed` after every plugin had its turn; its cause is an AggregateError.
   */
  async del(sandbox: CniSandbox): Promise<void> {
    checkSandbox(sandbox)
    await this.#locks.forContainer(sandbox.containerId, async () => {
      const remembered = await this.#cache.find(sandbox.containerId, sandbox.ifName)
      if (remembered.length > 0) return this.#deleteAll(remembered)
      const network = (await this.networks()).networks[0]
      if (network) await this.#delete(network, beginAttachment(sandbox, network))
    })
  }

  /** Whether an ADD of this interface began that no DEL has finished. */
  async isRemembered({ containerId, ifName }: Pick<CniSandbox, 'containerId' | 'ifName'>): Promise<boolean> {
    return (await this.#cache.find(containerId, ifName)).length > 0
  }

  /** The plugins that take long at this moment, the oldest first. */
  slowCalls(): readonly RunningCall[] {
    return this.#running.slow()
  }

  /** Undefined where the container has no failed ADD and no slow plugin. */
  stallReasonOf(containerId: string): StallReason | undefined {
    const failure = this.#failures.get(containerId)
    const call = this.slowCalls().find((one) => one.containerId === containerId)
    if (failure === undefined && call === undefined) return undefined
    return { ...(failure !== undefined && { failure }), ...(call && { waitsFor: describeRunning(call) }) }
  }

  /** Throws CniError of the plugin that finds its part not as it made it, and `not-supported` before 0.4.0. */
  async check(sandbox: CniSandbox): Promise<readonly CheckOutcome[]> {
    checkSandbox(sandbox)
    return this.#locks.forContainer(sandbox.containerId, async () => {
      const remembered = await this.#cache.find(sandbox.containerId, sandbox.ifName)
      if (remembered.length === 0) {
        throw new CniError('invalid-sandbox', 'nothing is known of an ADD of this interface', {
          object: `container ${sandbox.containerId}`,
          remedy: 'name it as ADD did: the container id and the interface',
        })
      }
      const outcomes: CheckOutcome[] = []
      for (const attachment of remembered) {
        const network = await this.#networkOf(attachment)
        refuseCheckBefore(network)
        const isAsked = !network.disableCheck
        if (isAsked) await checkChain(this.#context, network, attachment)
        outcomes.push({ network: network.name, isAsked })
      }
      return outcomes
    })
  }

  /** Resolves with the default network when an ADD could succeed now. Throws CniError. Below 1.1.0 plugins cannot be asked. */
  async status(): Promise<Network> {
    const network = await this.defaultNetwork()
    if (isAtLeast(network.cniVersion, since.status)) await statusOfChain(this.#context, network)
    return network
  }

  /**
   * Undoes what this runtime added for sandboxes that are not among the living, releases addresses and chains that nobody's attachment
   * accounts for, and tells plugins that know GC. Attachments of other runtimes in the same cache are left alone. Runs while nothing
   * else does.
   */
  async gc(live: readonly LiveSandbox[]): Promise<GcReport> {
    return this.#locks.alone(async () => {
      await this.#cache.removeHalfWritten()
      const found = await findOnNode(this.#places)
      const leftovers = planLeftovers(found, new Set(live.map(({ containerId }) => containerId)))
      const ours = leftovers.attachments.filter(({ isOurs }) => isOurs)
      const report = await this.#clean({ ...leftovers, attachments: ours, unreadableFiles: [] })
      // What others added on the same network is as valid as ours.
      const valid = [...live, ...found.attachments.filter(({ isOurs }) => !isOurs)]
      return { ...report, errors: [...report.errors, ...(await this.#tellPlugins(valid))] }
    })
  }

  /**
   * What no living container needs, whoever made it; for people, who may ask while the agent is away. A container lives as long as its
   * namespace stands. Changes nothing.
   */
  async leftovers(): Promise<Leftovers> {
    return planLeftovers(await findOnNode(this.#places), undefined)
  }

  /** Takes away what `leftovers` found. */
  async clean(leftovers: Leftovers): Promise<GcReport> {
    return this.#locks.alone(() => this.#clean(leftovers))
  }

  async #clean(leftovers: Leftovers): Promise<GcReport> {
    const errors: unknown[] = []
    const deleted: string[] = []
    for (const { network, containerId, ifName } of leftovers.attachments) {
      try {
        const remembered = await this.#cache.find(containerId, ifName)
        await this.#deleteAll(remembered.filter((attachment) => attachment.network === network))
        deleted.push(`${network}/${containerId}/${ifName}`)
      } catch (error) {
        errors.push(error)
      }
    }
    try {
      return { deleted, released: await releaseLeftovers(leftovers, this.#places), errors }
    } catch (error) {
      return { deleted, released: [], errors: [...errors, error] }
    }
  }

  async #tellPlugins(valid: readonly LiveSandbox[]): Promise<unknown[]> {
    const errors: unknown[] = []
    for (const network of (await this.networks()).networks) {
      if (network.disableGc || !isAtLeast(network.cniVersion, since.gc)) continue
      errors.push(...(await collectChain(this.#context, network, valid)))
    }
    return errors
  }

  #logSlow(call: RunningCall): void {
    const failure = this.#failures.get(call.containerId ?? '')
    this.#settings.log.warn('a plugin takes long', { pod: call.containerId, what: describeRunning(call), failure })
  }

  async #undo(network: Network, attachment: Attachment, failure: string): Promise<void> {
    this.#failures.set(attachment.containerId, failure)
    try {
      await this.#delete(network, attachment)
    } catch (error) {
      this.#settings.log.warn('a failed ADD could not be undone', {
        pod: attachment.containerId,
        error: describeError(error),
      })
    } finally {
      this.#failures.delete(attachment.containerId)
    }
  }

  async #deleteAll(attachments: readonly Attachment[]): Promise<void> {
    for (const attachment of attachments) await this.#delete(await this.#networkToDelete(attachment), attachment)
  }

  /** The cache forgets only what is undone. */
  async #delete(network: Network, attachment: Attachment): Promise<void> {
    await this.#earlier.ended(attachment.containerId)
    const errors = await deleteChain(this.#context, network, await nameOnlyNamespace(attachment))
    if (errors.length === 0) return this.#cache.remove(attachment)
    const causes = errors.map(describeError).join('; ')
    throw new CniError('delete-failed', `the network ${network.name} could not be taken from the pod: ${causes}`, {
      object: `container ${attachment.containerId}`,
      remedy: '"platnet cni doctor" shows what is left; a pod of the agent is tried again by itself',
      cause: new AggregateError(errors, causes),
    })
  }

  /**
   * A remembered configuration that makes no sense keeps no pod from going: what net.d says today comes nearest to it. Nor does a plugin
   * that is gone, or speaks no version any more that the list declares: all are called at the version of ADD, and each fails for itself.
   */
  async #networkToDelete(attachment: Attachment): Promise<Network> {
    let config: NetworkConfig
    try {
      config = rememberedConfig(attachment)
    } catch (error) {
      const { networks } = await this.networks()
      const found = networks.find(({ name }) => name === attachment.network)
      if (found === undefined) throw error
      return found
    }
    try {
      return await negotiate(config, this.#context.binaries)
    } catch {
      return { ...config, cniVersion: String(config.json['cniVersion']) }
    }
  }

  /** As it was at ADD, whatever net.d says today. */
  async #networkOf(attachment: Attachment): Promise<Network> {
    return negotiate(rememberedConfig(attachment), this.#context.binaries)
  }
}

/** In the words of libcni, whose users search for them. */
function refuseCheckBefore({ name, cniVersion }: Network): void {
  if (isAtLeast(cniVersion, since.check)) return
  throw new CniError('not-supported', `configuration version "${cniVersion}" does not support the CHECK command`, {
    object: `network ${name}`,
    remedy: `CHECK came with ${since.check}: declare that version or a newer one in the list, for pods that are made from then on`,
  })
}

/** A file that is there and is no namespace is one for plugins to fail at, again and again; none at all is a pod like any that has lost its own. */
async function nameOnlyNamespace(attachment: Attachment): Promise<Attachment> {
  const { netnsPath } = attachment
  return existsSync(netnsPath) && !(await isNamespace(netnsPath)) ? { ...attachment, netnsPath: '' } : attachment
}

function rememberedConfig({ network, config }: Attachment): NetworkConfig {
  return parseCachedNetwork(`the remembered network ${network}`, config)
}

function beginAttachment(sandbox: CniSandbox, network: Network): Attachment {
  const config: JsonObject = { ...network.json, cniVersion: network.cniVersion }
  return {
    network: network.name,
    containerId: sandbox.containerId,
    ifName: sandbox.ifName,
    netnsPath: sandbox.netnsPath,
    config: JSON.stringify(config),
    cniArgs: cniArguments(sandbox),
    capabilityArgs: capabilityArguments(sandbox),
    isOurs: true,
  }
}
