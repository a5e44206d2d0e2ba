import type { Ip } from '../../model/ip.ts'
import type { Bandwidth, CniSandbox, PortMapping, StallReason } from '../cni/index.ts'
import type { Launch } from './container-launch.ts'
import type { ContainerState } from './plan.ts'
import type { PodSpec } from './pod-spec.ts'

/** The environment that the containers of a pod share: its identity and its network. It is stored before anything is created. */
export interface PodSandbox {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly hostNetwork: boolean
  readonly portMappings: readonly PortMapping[]
  readonly bandwidth?: Bandwidth
  /** The image of the first container; an engine runs the sandbox container from it. */
  readonly image: string
  /** The socket of the engine that runs the containers of the pod; absent if they are processes of this node. */
  readonly engineSocket?: string
}

/** One run of one container. */
export interface ContainerRun {
  readonly container: string
  readonly attempt: number
}

export interface ExecResult {
  readonly exitCode: number
  readonly output: string
}

/** Creates pods on this node as namespaces and processes, or as containers of an engine. Every method can be repeated. */
export interface PodRuntime {
  /** The socket of the engine, whose images containers can use; undefined if containers are processes. */
  readonly engineSocket: string | undefined
  /** Resolves with the addresses of the pod. Replaces what an interrupted attempt left. */
  makeSandbox(sandbox: PodSandbox): Promise<readonly Ip[]>
  removeSandbox(sandbox: PodSandbox): Promise<void>
  /** Returns why the creation or removal of the sandbox takes long now; undefined if it does not. */
  stallReasonOf(sandbox: PodSandbox): StallReason | undefined
  /** Resolves when the start is under way, with the requested limits that do not hold and the reasons. */
  start(pod: PodSpec, sandbox: PodSandbox, run: ContainerRun, launch: Launch): Promise<readonly string[]>
  state(sandbox: PodSandbox, run: ContainerRun, nowMs: number): ContainerState | Promise<ContainerState>
  signal(sandbox: PodSandbox, run: ContainerRun, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Runs the program of a probe inside the container. Throws PodError if the container does not run or the time is over. */
  exec(sandbox: PodSandbox, run: ContainerRun, command: readonly string[], timeoutMs: number): Promise<ExecResult>
  /** Removes everything of pods that are not among `live`. */
  collect(live: readonly PodSandbox[]): Promise<void>
}

/** Adds and removes the interface of a pod. */
export interface PodNetwork {
  attach(sandbox: CniSandbox): Promise<readonly Ip[]>
  detach(sandbox: CniSandbox): Promise<void>
  stallReasonOf(sandbox: CniSandbox): StallReason | undefined
  /** Tells whether an `attach` of this or an earlier process has begun and no `detach` has completed since. */
  isAttached(sandbox: CniSandbox): Promise<boolean>
  /** Removes the attachments of sandboxes that are not among `live`. */
  collect(live: readonly CniSandbox[]): Promise<void>
}
