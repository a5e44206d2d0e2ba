import { createHash } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  listNetns,
  type NetnsMaker,
  type Run,
  runProgram,
  signalGroup,
  signalProcess,
  startDetached,
} from '../../host/index.ts'
import type { Ip } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import type { CniSandbox, StallReason } from '../cni/index.ts'
import { type CgroupLayout, cgroupName, makeCgroups, removeCgroups } from './cgroups.ts'
import { claimRun, findProgram, findShim, readRun } from './container-files.ts'
import { hostnameOf, type Launch } from './container-launch.ts'
import { enterEarlierRun } from './earlier-run.ts'
import { overdue, PodError } from './errors.ts'
import { type HostViewSettings, planHostView } from './host-view.ts'
import { launchFileOf, writeLaunch } from './launch-file.ts'
import type { ContainerState } from './plan.ts'
import { listFolder, type PodFolders } from './pod-folders.ts'
import type { PodSpec } from './pod-spec.ts'
import type { ContainerRun, ExecResult, PodNetwork, PodRuntime, PodSandbox } from './runtime.ts'
import { systemCallsOf } from './system-calls.ts'

export interface ProcessRuntimeParts {
  readonly folders: PodFolders
  readonly network: PodNetwork
  readonly cgroups: CgroupLayout
  /** The addresses of pods with `hostNetwork`. */
  readonly hostIps: () => readonly Ip[]
  readonly view: HostViewSettings
  readonly namespaces: Pick<NetnsMaker, 'create' | 'delete'>
  /** Starts the programs of containers; `runProgram` by default. */
  readonly run?: Run
  readonly log: Logger
}

const shim = resolve(import.meta.dirname, 'container-shim.sh')
const init = resolve(import.meta.dirname, 'container-init.pl')
const netnsFolder = '/run/netns'
const logPieceBytes = 1024 * 1024
const logPieces = 10
/** The limit of processes and threads of one container, so that a container that forks without end does not exhaust the node's. */
const maxProcesses = 4096
const maxExecOutputBytes = 1024 * 1024

/** Creates pods as network namespaces, and containers as processes in their own namespaces, each under a shim that outlives this process. */
export class ProcessRuntime implements PodRuntime {
  readonly engineSocket = undefined
  readonly #parts: ProcessRuntimeParts
  /** Derived from the folder of this agent, so that two agents on one machine do not touch each other's pods. */
  readonly #netnsPrefix: string

  constructor(parts: ProcessRuntimeParts) {
    this.#parts = parts
    this.#netnsPrefix = `plt-${createHash('sha256').update(parts.folders.root).digest('hex').slice(0, 6)}-`
  }

  async makeSandbox(sandbox: PodSandbox): Promise<readonly Ip[]> {
    if (sandbox.hostNetwork) return this.#parts.hostIps()
    // A new attempt fails if the namespace or the interface of an interrupted one exists.
    if (await this.#mayExist(sandbox)) await this.removeSandbox(sandbox)
    await this.#parts.namespaces.create(this.#netnsName(sandbox))
    return this.#parts.network.attach(this.#cniSandbox(sandbox))
  }

  /** Removes the namespace last: plugins that do not find it leave rules behind. */
  async removeSandbox(sandbox: PodSandbox): Promise<void> {
    this.#removeCgroups(sandbox)
    if (sandbox.hostNetwork) return
    await this.#parts.network.detach(this.#cniSandbox(sandbox))
    await this.#parts.namespaces.delete(this.#netnsName(sandbox))
  }

  stallReasonOf(sandbox: PodSandbox): StallReason | undefined {
    return sandbox.hostNetwork ? undefined : this.#parts.network.stallReasonOf(this.#cniSandbox(sandbox))
  }

  /** Tells whether there is anything to undo. DEL for a new pod would take as long as its ADD. */
  async #mayExist(sandbox: PodSandbox): Promise<boolean> {
    if (existsSync(this.#netnsPath(sandbox))) return true
    return this.#parts.network.isAttached(this.#cniSandbox(sandbox))
  }

  async start(pod: PodSpec, sandbox: PodSandbox, run: ContainerRun, launch: Launch): Promise<readonly string[]> {
    const { folders, cgroups } = this.#parts
    const folder = folders.runFolder(sandbox.uid, run)
    // The folder can exist if an earlier attempt did not start the run.
    rmSync(folder, { recursive: true, force: true })
    await this.#removeEarlierRuns(sandbox, run)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const { folders: groups, problems } = makeCgroups(cgroups, cgroupName(sandbox.uid, run), {
      ...launch.limits,
      processes: maxProcesses,
    })
    await this.#writeLaunch(pod, sandbox, folder, launch, groups)
    const env = {
      PLATNET_CGROUPS: groups.join(' '),
      PLATNET_LOG_BYTES: String(logPieceBytes),
      PLATNET_LOG_PIECES: String(logPieces),
    }
    await startDetached('sh', [shim, folder], { env }, this.#parts.run)
    return problems
  }

  state(sandbox: PodSandbox, run: ContainerRun, nowMs: number): ContainerState {
    return readRun(this.#parts.folders.runFolder(sandbox.uid, run), nowMs)
  }

  async signal(sandbox: PodSandbox, run: ContainerRun, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const folder = this.#parts.folders.runFolder(sandbox.uid, run)
    const program = findProgram(folder)
    if (program !== undefined) {
      signalProcess(program, signal)
      return
    }
    // The program has not started. A shim that has not claimed the run now never will; one that has is killed with its process group.
    const isClaimed = claimRun(folder)
    const startedShim = findShim(folder)
    if (isClaimed || signal !== 'SIGKILL' || startedShim === undefined) return
    signalGroup(startedShim, 'SIGKILL')
  }

  async exec(
    sandbox: PodSandbox,
    run: ContainerRun,
    command: readonly string[],
    timeoutMs: number,
  ): Promise<ExecResult> {
    const folder = this.#parts.folders.runFolder(sandbox.uid, run)
    const [program, startedShim] = [findProgram(folder), findShim(folder)]
    if (program === undefined || startedShim === undefined)
      throw new PodError('not-running', 'the container is not running', { object: `container ${run.container}` })
    const [file, ...args] = existsSync(launchFileOf(folder))
      ? ['perl', '-w', init, 'exec', folder, String(program.pid), String(program.startTicks), ...command]
      : enterEarlierRun(program.pid, startedShim.pid, command)
    // `runProgram` kills the process group at the deadline. A child that stays alive would keep the output open.
    const { endedBy, exitCode, stdout, stderr } = await (this.#parts.run ?? runProgram)(file, args, {
      env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/bin:/sbin:/bin`, LC_ALL: 'C' },
      timeoutMs,
      maxOutputBytes: maxExecOutputBytes,
      untrusted: true,
    })
    if (endedBy === 'timeout') throw overdue(command, timeoutMs)
    return { exitCode: exitCode ?? 137, output: `${stdout}${stderr}`.slice(0, 1024) }
  }

  async collect(live: readonly PodSandbox[]): Promise<void> {
    const withNetwork = live.filter(({ hostNetwork }) => !hostNetwork)
    const names = new Set(withNetwork.map((sandbox) => this.#netnsName(sandbox)))
    await this.#parts.network.collect(withNetwork.map((sandbox) => this.#cniSandbox(sandbox)))
    for (const name of await listNetns(this.#parts.run)) {
      if (!name.startsWith(this.#netnsPrefix) || names.has(name)) continue
      this.#parts.log.info('the namespace of a pod that is gone is removed', { netns: name })
      await this.#parts.namespaces.delete(name)
    }
  }

  async #writeLaunch(
    pod: PodSpec,
    sandbox: PodSandbox,
    folder: string,
    launch: Launch,
    cgroups: readonly string[],
  ): Promise<void> {
    const calls = systemCallsOf(process.arch)
    if (calls === undefined)
      throw new PodError(
        'not-possible',
        `containers cannot be processes on this processor (${process.arch}); use --pod-network container-bridge`,
      )
    await writeLaunch(folder, {
      launch,
      calls,
      view: launch.rootFilesystem === undefined ? planHostView(this.#parts.view) : undefined,
      netnsPath: sandbox.hostNetwork ? undefined : this.#netnsPath(sandbox),
      hostname: sandbox.hostNetwork ? undefined : hostnameOf(pod),
      files: this.#files(pod),
      volumes: launch.mounts.map(({ volume, target }) => {
        return { source: join(this.#parts.folders.volumesFolder(pod.uid), volume), target }
      }),
      cgroups,
    })
  }

  #files(pod: PodSpec): { readonly source: string; readonly target: string }[] {
    const { resolver, hosts } = this.#parts.folders.files(pod.uid)
    const resolverFile = { source: resolver, target: '/etc/resolv.conf' }
    return pod.spec.hostNetwork ? [resolverFile] : [resolverFile, { source: hosts, target: '/etc/hosts' }]
  }

  /** Keeps the previous run, whose log and state are still read. A container that fails for days has thousands of runs. */
  async #removeEarlierRuns(sandbox: PodSandbox, { container, attempt }: ContainerRun): Promise<void> {
    const { folders, cgroups } = this.#parts
    for (const name of listFolder(join(folders.folder(sandbox.uid), 'containers', container))) {
      const earlier = { container, attempt: Number(name) }
      if (earlier.attempt >= attempt - 1) continue
      removeCgroups(cgroups, cgroupName(sandbox.uid, earlier))
      await rm(folders.runFolder(sandbox.uid, earlier), { recursive: true, force: true })
    }
  }

  #removeCgroups(sandbox: PodSandbox): void {
    const containers = join(this.#parts.folders.folder(sandbox.uid), 'containers')
    for (const container of listFolder(containers)) {
      for (const attempt of listFolder(join(containers, container)))
        removeCgroups(this.#parts.cgroups, cgroupName(sandbox.uid, { container, attempt: Number(attempt) }))
    }
  }

  #netnsName({ uid }: PodSandbox): string {
    return `${this.#netnsPrefix}${uid}`
  }

  #netnsPath(sandbox: PodSandbox): string {
    return `${netnsFolder}/${this.#netnsName(sandbox)}`
  }

  #cniSandbox(sandbox: PodSandbox): CniSandbox {
    const { uid, namespace, name, portMappings, bandwidth } = sandbox
    return {
      containerId: uid,
      netnsPath: this.#netnsPath(sandbox),
      ifName: 'eth0',
      podNamespace: namespace,
      podName: name,
      podUid: uid,
      portMappings,
      ...(bandwidth && { bandwidth }),
    }
  }
}
