import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import {
  type ApiClient,
  ApiEventRecorder,
  type EventRecorder,
  Informer,
  type InformerHandler,
  type ObjectIdentity,
  type SharedInformer,
  type WireObject,
} from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import type { Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import type { Ip } from '../../model/ip.ts'
import { isKubeletVersion } from '../../model/node.ts'
import { type ClusterDns, planPodResolver } from '../../model/pod-resolver.ts'
import { parseResolverConfig } from '../../model/resolver-config.ts'
import type { Logger } from '../../observe/index.ts'
import type { ChosenRuntime } from './choose-runtime.ts'
import { hostnameOf } from './container-launch.ts'
import { createPodsMetrics, type PodsMetrics } from './metrics.ts'
import { NamespaceLabels } from './namespace-labels.ts'
import type { NodeFacts } from './node-facts.ts'
import { HttpPodApi } from './pod-api.ts'
import { PodEvents } from './pod-events.ts'
import type { PodFiles, PodFolders, StoredPod } from './pod-folders.ts'
import { type PodSpec, parsePod } from './pod-spec.ts'
import { PodWorker, type PodWorkerParts } from './pod-worker.ts'
import { SandboxSemaphore } from './sandbox-semaphore.ts'
import type { Traffic } from './traffic.ts'
import { HttpVolumeApi } from './volumes/volume-api.ts'
import { VolumeKeeper } from './volumes/volume-keeper.ts'

export interface PodsPlaneParts {
  readonly client: ApiClient
  readonly namespaces: SharedInformer
  readonly dialect: Dialect
  readonly nodeName: string
  readonly hostIps: () => readonly [Ip, ...Ip[]]
  readonly folders: PodFolders
  /** Called once, at the start, because the probes of the machine take time. */
  readonly chooseRuntime: () => Promise<ChosenRuntime>
  readonly traffic: Traffic
  readonly clusterDns: ClusterDns
  readonly apiService: NodeFacts['apiService']
  /** The value of `--run-pods`. */
  readonly isOn: boolean
  /** The folder whose own folders may be root filesystems; undefined if none may. */
  readonly rootFilesystems: string | undefined
  readonly metrics: Parameters<typeof createPodsMetrics>[0]
  readonly log: Logger
}

/**
 * The number of pods that create or remove their sandbox at the same time. A higher number would share the same processors, and every pod
 * would be late. It is two above the number of processors, because plugins also wait (for the kernel, for the gate).
 */
export const sandboxesAtOnce = availableParallelism() + 2
const hostResolverFile = '/etc/resolv.conf'

/** Runs the pods that are bound to this node, with one worker per pod. The pods come from the API and from the stored records. */
export class PodsPlane implements Component {
  readonly name = 'pods'
  readonly #parts: PodsPlaneParts
  readonly #workers = new Map<string, PodWorker>()
  readonly #semaphore = new SandboxSemaphore(sandboxesAtOnce)
  readonly #metrics: PodsMetrics
  readonly #informer: Informer
  readonly #namespaces: NamespaceLabels
  readonly #events: EventRecorder
  readonly #volumes: VolumeKeeper
  #sinceMs = Date.now()
  #kubelet = false
  #chosen: ChosenRuntime | undefined
  #level: Health['level'] = 'unknown'

  constructor(parts: PodsPlaneParts) {
    this.#parts = parts
    this.#metrics = createPodsMetrics(parts.metrics, () => this.#workers.values().map(({ phase }) => phase))
    this.#events = new ApiEventRecorder(parts.client, 'platnet-pods', parts.log.child('events'))
    this.#volumes = new VolumeKeeper({
      folders: parts.folders,
      api: new HttpVolumeApi(parts.client),
      onTrouble: (pod, error) => this.#reportStaleVolumes(pod, error),
    })
    this.#namespaces = new NamespaceLabels({
      namespaces: parts.namespaces,
      onChange: (namespace) => this.#wake(namespace),
    })
    this.#informer = new Informer({
      client: parts.client,
      collection: { resource: { group: '', version: 'v1', resource: 'pods' } },
      fieldSelector: `spec.nodeName=${parts.nodeName}`,
      handler: this.#createHandler(),
      log: parts.log.child('client'),
    })
  }

  /** Removes what pods without a record left, then continues the pods of the earlier agent, then starts to follow the API. */
  async start(scope: { signal: AbortSignal }): Promise<void> {
    const { folders, log } = this.#parts
    if (await hasKubelet(this.#parts)) {
      this.#kubelet = true
      log.warn(
        'this node has a kubelet, which runs its pods: this agent runs none; start it with --components without pods',
      )
      return
    }
    const chosen = await this.#parts.chooseRuntime()
    for (const { name, problem } of chosen.capabilities) this.#metrics.setCapability(name, problem === undefined)
    this.#chosen = chosen
    const { pods, unreadable } = folders.readAll()
    for (const uid of unreadable) {
      log.warn('the record of a pod cannot be read and is removed', { folder: folders.folder(uid) })
      folders.remove(uid)
    }
    await this.#collect(
      chosen,
      pods.filter(({ sandbox }) => sandbox !== 'none'),
    )
    await this.#volumes.collect(new Set(pods.map(({ uid }) => uid)))
    for (const record of pods) this.#workers.set(record.uid, this.#createWorker(chosen, record))
    if (pods.length > 0) log.info('the pods of the earlier agent continue', { pods: pods.length })
    if (this.#parts.isOn) await this.#namespaces.start(scope)
    await this.#informer.start(scope)
  }

  /** Ends the work on all pods. Their processes go on. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await Promise.all([this.#informer.stop(), this.#namespaces.stop(scope)])
    await Promise.all(this.#workers.values().map((worker) => worker.stop(scope)))
    await this.#volumes.stop()
  }

  health(): Health {
    if (this.#kubelet) return { level: 'ok', message: 'a kubelet runs the pods of this node', sinceMs: this.#sinceMs }
    const sources = [this.#informer, ...(this.#parts.isOn ? [this.#namespaces] : [])]
    const behind = sources.map((source) => source.health()).find((each) => each.level !== 'ok')
    if (behind !== undefined) return behind
    const failures = Array.from(this.#workers.values(), ({ failure }) => failure).filter((each) => each !== undefined)
    // If some pods work, a failure belongs to its pod. If every pod fails, it belongs to the node.
    const level = failures.length > 0 && failures.length === this.#workers.size ? 'degraded' : 'ok'
    if (level !== this.#level) this.#sinceMs = Date.now()
    this.#level = level
    const first = failures[0] === undefined ? '' : `, ${failures.length} of them fail: ${failures[0]}`
    const { waiting } = this.#semaphore
    const queue = waiting === 0 ? '' : `, ${waiting} wait for a slot to create or remove their network`
    const how = this.#parts.isOn
      ? `by ${this.#chosen?.description}`
      : 'are bound to this node, which starts none: running pods is off (--run-pods)'
    return { level, message: `${this.#workers.size} pods ${how}${queue}${first}`, sinceMs: this.#sinceMs }
  }

  async #collect({ runtime }: ChosenRuntime, live: readonly StoredPod[]): Promise<void> {
    try {
      await runtime.collect(live)
    } catch (error) {
      this.#parts.log.warn('what earlier pods left could not be removed', { error: describeError(error) })
    }
  }

  /** Containers continue with their current files. */
  #reportStaleVolumes(pod: PodSpec, error: unknown): void {
    this.#parts.log.warn("the update of a pod's volumes failed; a retry follows", { pod: pod.key, error })
    new PodEvents(this.#events).record(pod, 'FailedMount', `volumes are not up to date: ${describeError(error)}`)
  }

  #createHandler(): InformerHandler {
    return {
      onReplace: (items, _resourceVersion, leftOut) => this.#replace(items, leftOut),
      onEvent: (type, object) => {
        if (type === 'DELETED') this.#workers.get(object.metadata.uid ?? '')?.setPod(undefined)
        else this.#take(object)
      },
      onProgress: () => {},
    }
  }

  #wake(namespace: string): void {
    for (const worker of this.#workers.values()) if (worker.namespace === namespace) worker.wake()
  }

  #replace(items: readonly WireObject[], leftOut: readonly ObjectIdentity[]): void {
    const present = new Set([...items.map(({ metadata }) => metadata.uid), ...leftOut.map(({ uid }) => uid)])
    for (const item of items) this.#take(item)
    for (const [uid, worker] of this.#workers) if (!present.has(uid)) worker.setPod(undefined)
  }

  #take(object: WireObject): void {
    const parsed = parsePod(object, this.#parts.dialect)
    if (parsed.kind === 'mirror') return
    if (parsed.kind === 'unusable') {
      const { namespace, name } = object.metadata
      this.#parts.log.warn('this node cannot run a pod', { pod: `${namespace}/${name}`, fault: parsed.fault })
      const identity = { namespace: namespace ?? '', name, uid: object.metadata.uid ?? '' }
      new PodEvents(this.#events).record(identity, 'FailedValidation', `this node cannot run the pod: ${parsed.fault}`)
      return
    }
    const { pod } = parsed
    if (this.#chosen === undefined) return
    const worker = this.#workers.get(pod.uid) ?? this.#createWorker(this.#chosen, undefined)
    this.#workers.set(pod.uid, worker)
    worker.setPod(pod)
  }

  #createWorker({ runtime }: ChosenRuntime, record: StoredPod | undefined): PodWorker {
    const { folders, client, traffic, dialect, nodeName, hostIps, isOn, apiService, rootFilesystems, log } = this.#parts
    const parts: PodWorkerParts = {
      runtime,
      folders,
      api: new HttpPodApi(client),
      events: this.#events,
      traffic,
      node: { name: nodeName, hostIps, dialect, apiService, rootFilesystems },
      permission: { isOn, labelsOf: (namespace) => this.#namespaces.of(namespace) },
      files: (pod, ips) => this.#files(pod, ips),
      volumes: this.#volumes,
      semaphore: this.#semaphore,
      metrics: this.#metrics,
      log,
      onForgotten: (uid) => this.#workers.delete(uid),
    }
    return new PodWorker(parts, record)
  }

  async #files(pod: PodSpec, ips: readonly Ip[]): Promise<PodFiles> {
    const { namespace, spec } = pod
    const host = parseResolverConfig(await readFile(hostResolverFile, 'utf8').catch(() => ''))
    const wishes = { namespace, hostNetwork: spec.hostNetwork, dnsPolicy: spec.dnsPolicy, dnsConfig: spec.dnsConfig }
    const { text, problems } = planPodResolver(wishes, this.#parts.clusterDns, host)
    for (const problem of problems) this.#parts.log.warn(problem, { pod: pod.key })
    return { resolver: text, hosts: hostsFile(pod, ips, this.#parts.clusterDns.domain) }
  }
}

/** Tells whether a kubelet runs on this node: it writes its version into the Node object; this agent writes none, or one with its own name. */
async function hasKubelet({ client, nodeName }: PodsPlaneParts): Promise<boolean> {
  const ref = { resource: { group: '', version: 'v1', resource: 'nodes' }, name: nodeName }
  const node = await client.get(ref).catch(() => undefined)
  return isKubeletVersion(nodeSchema.safeParse(node).data?.status?.nodeInfo?.kubeletVersion ?? '')
}

const nodeSchema = z.object({
  status: z.object({ nodeInfo: z.object({ kubeletVersion: z.string().nullish() }).nullish() }).nullish(),
})

function hostsFile(pod: PodSpec, ips: readonly Ip[], domain: string): string {
  const { namespace, spec } = pod
  const name = hostnameOf(pod)
  const full = spec.subdomain === '' ? '' : `${name}.${spec.subdomain}.${namespace}.svc.${domain}\t`
  const own = ips.map((ip) => `${ip}\t${full}${name}\n`)
  return `127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n${own.join('')}`
}
