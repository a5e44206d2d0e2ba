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
import { type CgroupLayout, makeCgroups, removeCgroups } from './cgroups.ts'
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
  /** What pods with the host's network have as theirs. */
  readonly hostIps: readonly Ip[]
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
/** Of one container, threads included: one that forks without end takes none from the rest of the node. */
const mostProcesses = 4096
const maxExecOutputBytes = 1024 * 1024

/** Pods as network namespaces, containers as processes in namespaces of their own, each under a shim that outlives this process. */
export class ProcessRuntime implements PodRuntime {
  readonly engineSocket = undefined
  readonly #parts: ProcessRuntimeParts
  /** Of this agent's own folder: two agents of one machine leave each other's pods alone. */
  readonly #netnsPrefix: string

  constructor(parts: ProcessRuntimeParts) {
    this.#parts = parts
    this.#netnsPrefix = `plt-${createHash('sha256').update(parts.folders.root).digest('hex').slice(0, 6)}-`
  }

  async makeSandbox(sandbox: PodSandbox): Promise<readonly Ip[]> {
    if (sandbox.hostNetwork) return this.#parts.hostIps
    // Whatever an interrupted attempt left would be in the way of the next one.
    if (await this.#isBegun(sandbox)) await this.removeSandbox(sandbox)
    await this.#parts.namespaces.create(this.#netnsName(sandbox))
    return this.#parts.network.attach(this.#networkSandbox(sandbox))
  }

  /** The namespace goes last: plugins that do not find it leave rules behind. */
  async removeSandbox(sandbox: PodSandbox): Promise<void> {
    this.#removeCgroups(sandbox)
    if (sandbox.hostNetwork) return
    await this.#parts.network.detach(this.#networkSandbox(sandbox))
    await this.#parts.namespaces.delete(this.#netnsName(sandbox))
  }

  stallReasonOf(sandbox: PodSandbox): StallReason | undefined {
    return sandbox.hostNetwork ? undefined : this.#parts.network.stallReasonOf(this.#networkSandbox(sandbox))
  }

  /** Plugins are not asked to undo what nobody began: that would cost a new pod as much as its network does. */
  async #isBegun(sandbox: PodSandbox): Promise<boolean> {
    if (existsSync(this.#netnsPath(sandbox))) return true
    return this.#parts.network.isAttached(this.#networkSandbox(sandbox))
  }

  async start(pod: PodSpec, sandbox: PodSandbox, run: ContainerRun, launch: Launch): Promise<readonly string[]> {
    const { folders, cgroups } = this.#parts
    const folder = folders.runFolder(sandbox.uid, run)
    // A run that never began, or half a folder of one.
    rmSync(folder, { recursive: true, force: true })
    await this.#removeEarlierRuns(sandbox, run)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const { folders: groups, problems } = makeCgroups(cgroups, cgroupName(sandbox, run), {
      ...launch.limits,
      processes: mostProcesses,
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
    // Nothing runs yet: a shim that has not begun never will, one that has is cut off together with what it started.
    const isClaimed = claimRun(folder)
    const begun = findShim(folder)
    if (isClaimed || signal !== 'SIGKILL' || begun === undefined) return
    signalGroup(begun, 'SIGKILL')
  }

  async exec(
    sandbox: PodSandbox,
    run: ContainerRun,
    command: readonly string[],
    timeoutMs: number,
  ): Promise<ExecResult> {
    const folder = this.#parts.folders.runFolder(sandbox.uid, run)
    const [program, begun] = [findProgram(folder), findShim(folder)]
    if (program === undefined || begun === undefined)
      throw new PodError('not-running', 'the container does not run', { object: run.container })
    const [file, ...words] = existsSync(launchFileOf(folder))
      ? ['perl', '-w', init, 'exec', folder, String(program.pid), String(program.startTicks), ...command]
      : enterEarlierRun(program.pid, begun.pid, command)
    // Together with what it started: of a program that hangs the one outside alone would be killed, and its output stay open.
    const { endedBy, exitCode, stdout, stderr } = await (this.#parts.run ?? runProgram)(file, words, {
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
    await this.#parts.network.collect(withNetwork.map((sandbox) => this.#networkSandbox(sandbox)))
    for (const name of await listNetns(this.#parts.run)) {
      if (!name.startsWith(this.#netnsPrefix) || names.has(name)) continue
      this.#parts.log.info('a namespace without a pod is removed', { netns: name })
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
      throw new PodError('not-possible', `containers cannot be processes on this processor (${process.arch})`)
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

  /** Of the runs before this one only the last is asked for again; a container that fails for days has thousands. */
  async #removeEarlierRuns(sandbox: PodSandbox, { container, attempt }: ContainerRun): Promise<void> {
    const { folders, cgroups } = this.#parts
    for (const name of listFolder(join(folders.folder(sandbox.uid), 'containers', container))) {
      const earlier = { container, attempt: Number(name) }
      if (earlier.attempt >= attempt - 1) continue
      removeCgroups(cgroups, cgroupName(sandbox, earlier))
      await rm(folders.runFolder(sandbox.uid, earlier), { recursive: true, force: true })
    }
  }

  #removeCgroups(sandbox: PodSandbox): void {
    const containers = join(this.#parts.folders.folder(sandbox.uid), 'containers')
    for (const container of listFolder(containers)) {
      for (const attempt of listFolder(join(containers, container)))
        removeCgroups(this.#parts.cgroups, cgroupName(sandbox, { container, attempt: Number(attempt) }))
    }
  }

  #netnsName({ uid }: PodSandbox): string {
    return `${this.#netnsPrefix}${uid}`
  }

  #netnsPath(sandbox: PodSandbox): string {
    return `${netnsFolder}/${this.#netnsName(sandbox)}`
  }

  #networkSandbox(sandbox: PodSandbox): CniSandbox {
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

function cgroupName({ uid }: PodSandbox, { container, attempt }: ContainerRun): string {
  return `${uid}-${container}-${attempt}`
}
