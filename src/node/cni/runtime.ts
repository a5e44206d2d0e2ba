import { join } from 'node:path'
import { runProgram } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import { parseTraceparent, type Span, silentTracer } from '../../observe/index.ts'
import { AttachmentRemoval, cachedConfig } from './attachment-removal.ts'
import { beginAttachment } from './begin-attachment.ts'
import { addChain, type ChainContext, checkChain, statusOfChain } from './chain.ts'
import { EarlierPlugins, findPlugins, type StartedPlugin } from './earlier-plugins.ts'
import { CniError } from './errors.ts'
import { GarbageCollection } from './garbage-collection.ts'
import { type LoadedNetworks, loadNetworks, negotiate } from './load-networks.ts'
import { AttachmentLocks } from './locks.ts'
import { parseResult } from './parse-result.ts'
import { type FoundPlugin, PluginBinaries } from './plugin-binaries.ts'
import { type Attachment, ResultCache } from './result-cache.ts'
import { describeRunning, type RunningCall, RunningCalls } from './running-calls.ts'
import { checkSandbox } from './sandbox-arguments.ts'
import type { CniSettings } from './settings.ts'
import type { CniResult, CniSandbox, Network } from './types.ts'
import { isAtLeast, since } from './versions.ts'

/** The reason why adding or removing the network of a pod takes long. */
export interface StallReason {
  /** The error of the ADD that is being undone. */
  readonly failure?: string
  /** The slow plugin that is still running. */
  readonly waitsFor?: string
}

/** The outcome of CHECK for one attachment. */
export interface CheckOutcome {
  readonly network: string
  /** False if the network list disables CHECK. */
  readonly isAsked: boolean
}

/** Runs CNI plugins for the pods of this node. See README.md for what it promises. */
export class CniRuntime {
  /** Garbage collection of this node's attachments. */
  readonly garbage: GarbageCollection
  readonly #settings: CniSettings
  readonly #context: ChainContext
  readonly #cache: ResultCache
  readonly #locks = new AttachmentLocks()
  readonly #earlier: EarlierPlugins
  readonly #removal: AttachmentRemoval
  readonly #running: RunningCalls
  /** Errors of failed ADDs that are being undone, by container. */
  readonly #failures = new Map<string, string>()

  constructor(settings: CniSettings) {
    const {
      binDirs,
      run = runProgram,
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
    const [context, cache, locks] = [this.#context, this.#cache, this.#locks]
    const networks = () => this.networks()
    this.#removal = new AttachmentRemoval({ context, cache, earlier: this.#earlier, networks })
    const ipamDirs = settings.ipamDirs ?? [join(settings.cacheDir, 'networks')]
    const places = { cache, ipamDirs, run: settings.runProgram ?? runProgram }
    this.garbage = new GarbageCollection({ context, places, locks, removal: this.#removal, networks })
  }

  /** Loads every network of the folder in order, and the reasons for skipped files. */
  async networks(): Promise<LoadedNetworks> {
    return loadNetworks(this.#settings.configDir, this.#context.binaries)
  }

  /** Lists every plugin of the folders, with its versions or the reason why they are unknown. */
  async plugins(): Promise<readonly FoundPlugin[]> {
    return this.#context.binaries.list()
  }

  /** Lists the plugins that work on a container now, also those of other processes. */
  pluginsAtWork(): readonly StartedPlugin[] {
    return findPlugins(this.#context.binDirs)
  }

  /** Loads the first valid network. Throws CniError `no-network` that names each file and its fault. */
  async defaultNetwork(): Promise<Network> {
    const { networks, skipped } = await this.networks()
    const [first] = networks
    if (first) return first
    const reasons = skipped.map(({ reason }) => `; ${reason}`).join('')
    throw new CniError('no-network', `no usable network in ${this.#settings.configDir}${reasons}`, {
      object: this.#settings.configDir,
      remedy: 'put a network list there; "platnet cni doctor" names the faults of those in it',
    })
  }

  /**
   * Adds the pod's interface. Before it throws, it undoes everything as far as the plugins can; the error is the first one. The signal
   * kills the running plugin.
   */
  async add(sandbox: CniSandbox, { signal }: { signal?: AbortSignal } = {}): Promise<CniResult> {
    checkSandbox(sandbox)
    const span = startAddSpan(this.#settings, sandbox)
    try {
      const result = await this.#add(sandbox, { signal, span })
      span.end()
      return result
    } catch (error) {
      span.end({ error: describeError(error) })
      throw error
    }
  }

  async #add(
    sandbox: CniSandbox,
    { signal, span }: { readonly signal: AbortSignal | undefined; readonly span: Span },
  ): Promise<CniResult> {
    return this.#locks.forContainer(sandbox.containerId, async () => {
      await this.#earlier.ended(sandbox.containerId)
      const network = await this.defaultNetwork()
      const begun = beginAttachment(sandbox, network)
      // Written before the first plugin runs, so that an ADD that a crash interrupts can be undone.
      await this.#cache.write(begun)
      try {
        const result = await addChain(this.#context, network, begun, { signal, span })
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
   * Removes the pod's interface with the configuration of its ADD. Safe to repeat, and for an interface that was never added. Throws
   * CniError `delete-failed` after every plugin was called; its cause is an AggregateError.
   */
  async del(sandbox: CniSandbox): Promise<void> {
    checkSandbox(sandbox)
    await this.#locks.forContainer(sandbox.containerId, async () => {
      const remembered = await this.#cache.find(sandbox.containerId, sandbox.ifName)
      if (remembered.length > 0) return this.#removal.deleteAll(remembered)
      const network = (await this.networks()).networks[0]
      if (network) await this.#removal.delete(network, beginAttachment(sandbox, network))
    })
  }

  /** Tells whether an ADD of this interface has begun and no DEL has completed since. */
  async isRemembered({ containerId, ifName }: Pick<CniSandbox, 'containerId' | 'ifName'>): Promise<boolean> {
    return (await this.#cache.find(containerId, ifName)).length > 0
  }

  /** Lists the plugin calls that are slow now, the oldest first. */
  slowCalls(): readonly RunningCall[] {
    return this.#running.slow()
  }

  /** Returns why the container's network takes long; undefined if it has no failed ADD and no slow plugin. */
  stallReasonOf(containerId: string): StallReason | undefined {
    const failure = this.#failures.get(containerId)
    const call = this.slowCalls().find((one) => one.containerId === containerId)
    if (failure === undefined && call === undefined) return undefined
    return { ...(failure !== undefined && { failure }), ...(call && { waitsFor: describeRunning(call) }) }
  }

  /** Runs CHECK. Throws CniError of the plugin that finds a difference from its ADD, and `not-supported` below 0.4.0. */
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

  /** Resolves with the default network if an ADD could succeed now, by STATUS from version 1.1.0 on. Throws CniError. */
  async status(): Promise<Network> {
    const network = await this.defaultNetwork()
    if (isAtLeast(network.cniVersion, since.status)) await statusOfChain(this.#context, network)
    return network
  }

  #logSlow(call: RunningCall): void {
    const failure = this.#failures.get(call.containerId ?? '')
    this.#settings.log.warn('a plugin takes long', { pod: call.containerId, what: describeRunning(call), failure })
  }

  async #undo(network: Network, attachment: Attachment, failure: string): Promise<void> {
    this.#failures.set(attachment.containerId, failure)
    try {
      await this.#removal.delete(network, attachment)
    } catch (error) {
      this.#settings.log.warn('a failed ADD could not be undone', {
        pod: attachment.containerId,
        error: describeError(error),
      })
    } finally {
      this.#failures.delete(attachment.containerId)
    }
  }

  /** Returns the network in its configuration at ADD; net.d may differ now. */
  async #networkOf(attachment: Attachment): Promise<Network> {
    return negotiate(cachedConfig(attachment), this.#context.binaries)
  }
}

/** Starts the span of an ADD. It continues the trace of this process's environment. */
function startAddSpan(
  { tracer = silentTracer, env = process.env }: CniSettings,
  { containerId, podNamespace, podName }: CniSandbox,
): Span {
  return tracer.start('CNI ADD', {
    parent: parseTraceparent(env['TRACEPARENT']),
    attributes: {
      'platnet.container': containerId,
      'platnet.namespace': podNamespace,
      'platnet.name': podName,
    },
  })
}

/** Throws with libcni's wording, because its users search for that. */
function refuseCheckBefore({ name, cniVersion }: Network): void {
  if (isAtLeast(cniVersion, since.check)) return
  throw new CniError('not-supported', `configuration version "${cniVersion}" does not support the CHECK command`, {
    object: `network ${name}`,
    remedy: `CHECK came with ${since.check}: declare that version or a newer one in the list, for pods that are made from then on`,
  })
}
