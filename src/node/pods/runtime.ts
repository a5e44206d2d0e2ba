import type { Ip } from '../../model/ip.ts'
import type { Bandwidth, CniSandbox, PortMapping, StallReason } from '../cni/index.ts'
import type { Launch } from './container-launch.ts'
import type { ContainerState } from './plan.ts'
import type { PodSpec } from './pod-spec.ts'

/** A pod as its network and its processes know it; all of it is written down before anything is made. */
export interface PodSandbox {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly hostNetwork: boolean
  readonly portMappings: readonly PortMapping[]
  readonly bandwidth?: Bandwidth
  /** Of the first container; an engine holds the pod's network with it. */
  readonly image: string
  /** Where the engine listens that has the pod's containers; absent where they are processes of this node. */
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

/** What pods are made of on this node: namespaces and processes, or the containers of an engine. Each method may be repeated. */
export interface PodRuntime {
  /** Where its engine listens, in whose images containers may be; undefined where containers are processes. */
  readonly engineSocket: string | undefined
  /** The addresses of the pod. Makes anew what an interrupted attempt left half done. */
  makeSandbox(sandbox: PodSandbox): Promise<readonly Ip[]>
  removeSandbox(sandbox: PodSandbox): Promise<void>
  /** Why making or removing the sandbox takes long at this moment; undefined where it does not. */
  stallReasonOf(sandbox: PodSandbox): StallReason | undefined
  /** Resolves when the start is on its way. The problems are what of the wishes could not be had. */
  start(pod: PodSpec, sandbox: PodSandbox, run: ContainerRun, launch: Launch): Promise<readonly string[]>
  state(sandbox: PodSandbox, run: ContainerRun, nowMs: number): ContainerState | Promise<ContainerState>
  signal(sandbox: PodSandbox, run: ContainerRun, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Runs a program inside the container, for probes. Throws where that is not possible. */
  exec(sandbox: PodSandbox, run: ContainerRun, command: readonly string[], timeoutMs: number): Promise<ExecResult>
  /** Takes away everything of pods that are not among the living. */
  collect(live: readonly PodSandbox[]): Promise<void>
}

/** Gives and takes a pod's interface: CNI as a rule. */
export interface PodNetwork {
  attach(sandbox: CniSandbox): Promise<readonly Ip[]>
  detach(sandbox: CniSandbox): Promise<void>
  stallReasonOf(sandbox: CniSandbox): StallReason | undefined
  /** Whether an attach began that no detach has finished, by this process or one before it. */
  isAttached(sandbox: CniSandbox): Promise<boolean>
  /** Undoes what was made for sandboxes that are not among these. */
  collect(live: readonly CniSandbox[]): Promise<void>
}
