import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type EngineClient, EngineError } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import { type Ip, parseIp } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import { hostnameOf, type Launch } from './container-launch.ts'
import { readEngineLog } from './engine-log.ts'
import { overdue } from './errors.ts'
import type { ContainerState } from './plan.ts'
import type { PodFolders } from './pod-folders.ts'
import type { PodSpec } from './pod-spec.ts'
import type { ContainerRun, ExecResult, PodRuntime, PodSandbox } from './runtime.ts'

export interface EngineRuntimeParts {
  readonly engine: EngineClient
  readonly folders: PodFolders
  readonly hostIps: () => readonly Ip[]
  readonly log: Logger
}

const stateSchema = z.object({
  State: z.object({
    Status: z.string(),
    ExitCode: z.number().nullish(),
    OOMKilled: z.boolean().nullish(),
    StartedAt: z.string().nullish(),
    FinishedAt: z.string().nullish(),
  }),
})
const networkSchema = z.object({
  NetworkSettings: z.object({
    IPAddress: z.string().nullish(),
    Networks: z.record(z.string(), z.object({ IPAddress: z.string().nullish() })).nullish(),
  }),
})
const listSchema = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullish() }))
type Listed = z.output<typeof listSchema>[number]
const createdSchema = z.object({ Id: z.string() })
const executedSchema = z.object({ ExitCode: z.number().nullish(), Running: z.boolean().nullish() })

const ownerLabel = 'platnet.owner'
const podLabel = 'platnet.pod'
const containerLabel = 'platnet.container'
const attemptLabel = 'platnet.attempt'
/** The end of a container's output that is kept after its removal: the size of one log file of a process. */
const keptLogBytes = 1024 * 1024
const execPollMs = 50

/**
 * Creates pods as containers of an engine, for machines where namespaces do not work. There is no CNI: the engine's bridge gives the address. A
 * sandbox container that sleeps has the network of the pod; the other containers join it.
 */
export class EngineRuntime implements PodRuntime {
  readonly #parts: EngineRuntimeParts
  readonly #owner: string

  constructor(parts: EngineRuntimeParts) {
    this.#parts = parts
    this.#owner = createHash('sha256').update(parts.folders.root).digest('hex').slice(0, 12)
  }

  get engineSocket(): string {
    return this.#parts.engine.socketPath
  }

  async makeSandbox(sandbox: PodSandbox): Promise<readonly Ip[]> {
    await this.removeSandbox(sandbox)
    const name = sandboxName(sandbox)
    const exposed = sandbox.portMappings.map(({ containerPort, protocol }) => `${containerPort}/${protocol}`)
    const bindings = sandbox.portMappings.map(({ hostPort, hostIP }) => [
      { HostIp: hostIP ?? '', HostPort: String(hostPort) },
    ])
    await this.#create(name, {
      Image: sandbox.image,
      Entrypoint: ['sleep'],
      Cmd: ['2147483647'],
      Labels: this.#labels(sandbox),
      ExposedPorts: Object.fromEntries(exposed.map((port) => [port, {}])),
      HostConfig: {
        ...{ CapDrop: ['ALL'], ReadonlyRootfs: true, SecurityOpt: ['no-new-privileges'] },
        NetworkMode: sandbox.hostNetwork ? 'host' : 'bridge',
        PortBindings: Object.fromEntries(exposed.map((port, index) => [port, bindings[index]])),
      },
    })
    await this.#call('POST', `/containers/${name}/start`)
    return sandbox.hostNetwork ? this.#parts.hostIps() : [await this.#addressOf(name)]
  }

  /** Always undefined: an engine does not report progress. */
  stallReasonOf(): undefined {}

  /** Keeps the output of the containers in the folder of their runs, where the output of processes is. */
  async removeSandbox(sandbox: PodSandbox): Promise<void> {
    const found = await this.#list([`${podLabel}=${sandbox.uid}`])
    for (const each of found) await this.#keepLog(sandbox, each)
    await this.#removeAll(found)
  }

  /** A log that the engine does not return must not stop the removal of the pod. */
  async #keepLog({ uid }: PodSandbox, { Id, Labels }: Listed): Promise<void> {
    const [container, attempt] = [Labels?.[containerLabel], Number(Labels?.[attemptLabel] ?? Number.NaN)]
    if (container === undefined || !Number.isInteger(attempt)) return
    try {
      const text = await lastOf(readEngineLog(this.#parts.engine, Id, { follow: false }), keptLogBytes)
      const folder = join(this.#parts.folders.runFolder(uid, { container, attempt }), 'log')
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(join(folder, '0'), text, { mode: 0o600 })
    } catch (error) {
      const { log } = this.#parts
      log.warn('the output of a container could not be kept', { pod: uid, container, error: describeError(error) })
    }
  }

  async start(pod: PodSpec, sandbox: PodSandbox, run: ContainerRun, launch: Launch): Promise<readonly string[]> {
    const name = containerName(sandbox, run)
    await this.#remove(name)
    const { user } = launch.security
    await this.#create(name, {
      Image: launch.image,
      ...(launch.command.length === 0 ? {} : { Entrypoint: launch.command.slice(0, 1), Cmd: launch.command.slice(1) }),
      Env: launch.env.map(([variable, value]) => `${variable}=${value}`),
      WorkingDir: launch.workingDir,
      ...(user === undefined ? {} : { User: `${user.uid}:${user.gid}` }),
      Labels: {
        ...this.#labels(sandbox),
        [containerLabel]: run.container,
        [attemptLabel]: String(run.attempt),
        'platnet.hostname': hostnameOf(pod),
      },
      HostConfig: {
        NetworkMode: `container:${sandboxName(sandbox)}`,
        ...hostConfigOf(launch),
        Binds: this.#binds(sandbox, launch),
      },
    })
    await this.#call('POST', `/containers/${name}/start`)
    return []
  }

  #binds({ uid }: PodSandbox, { mounts }: Launch): readonly string[] {
    const { folders } = this.#parts
    const { resolver, hosts } = folders.files(uid)
    const volumes = mounts.map(({ volume, target }) => `${join(folders.volumesFolder(uid), volume)}:${target}:ro`)
    return [`${resolver}:/etc/resolv.conf:ro`, `${hosts}:/etc/hosts:ro`, ...volumes]
  }

  async state(sandbox: PodSandbox, run: ContainerRun, nowMs: number): Promise<ContainerState> {
    const found = await orAbsent(this.#call('GET', `/containers/${containerName(sandbox, run)}/json`))
    if (found === undefined) return { kind: 'none' }
    const { Status, ExitCode, OOMKilled, StartedAt, FinishedAt } = stateSchema.parse(found).State
    const startedAtMs = timeOf(StartedAt, nowMs)
    if (Status === 'running' || Status === 'paused') return { kind: 'running', startedAtMs }
    // A container that was created and never started has no run.
    if (Status === 'created' || Status === 'initialized' || Status === 'configured') return { kind: 'none' }
    if (Status !== 'exited' && Status !== 'dead' && Status !== 'stopped') return { kind: 'starting' }
    const finishedAtMs = timeOf(FinishedAt, nowMs)
    const end = { kind: 'exited', exitCode: ExitCode ?? undefined, startedAtMs, finishedAtMs } as const
    return { ...end, ...(OOMKilled === true && { isOutOfMemory: true }) }
  }

  async signal(sandbox: PodSandbox, run: ContainerRun, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    try {
      await this.#call('POST', `/containers/${containerName(sandbox, run)}/kill`, { signal })
    } catch (error) {
      // The container is gone or has ended.
      if (!(error instanceof EngineError) || !['not-found', 'conflict'].includes(error.code)) throw error
    }
  }

  /** A program that exceeds its time goes on in the container: an engine has no call that ends it. */
  async exec(
    sandbox: PodSandbox,
    run: ContainerRun,
    command: readonly string[],
    timeoutMs: number,
  ): Promise<ExecResult> {
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      return await this.#execUntil(signal, containerName(sandbox, run), command)
    } catch (error) {
      throw signal.aborted ? overdue(command, timeoutMs) : error
    }
  }

  async #execUntil(signal: AbortSignal, name: string, command: readonly string[]): Promise<ExecResult> {
    const { engine } = this.#parts
    const body = { Cmd: command, AttachStdout: true, AttachStderr: true }
    const created = await engine.call({ method: 'POST', path: `/containers/${name}/exec`, body, signal })
    const path = `/exec/${createdSchema.parse(created).Id}`
    // The answer of an attached exec ends with the program. The engine knows the exit code a moment later.
    const attached = { body: { Detach: false, Tty: false }, answersText: true, signal }
    const output = String(await engine.call({ method: 'POST', path: `${path}/start`, ...attached }))
    for (;;) {
      const inspected = await engine.call({ method: 'GET', path: `${path}/json`, signal })
      const { ExitCode, Running } = executedSchema.parse(inspected)
      if (Running === false && ExitCode != null) return { exitCode: ExitCode, output: output.slice(0, 1024) }
      await sleep(execPollMs, undefined, { signal })
    }
  }

  async collect(live: readonly PodSandbox[]): Promise<void> {
    const uids = new Set(live.map(({ uid }) => uid))
    const all = await this.#list([`${ownerLabel}=${this.#owner}`])
    await this.#removeAll(all.filter(({ Labels }) => !uids.has(Labels?.[podLabel] ?? '')))
  }

  async #addressOf(name: string): Promise<Ip> {
    const { NetworkSettings } = networkSchema.parse(await this.#call('GET', `/containers/${name}/json`))
    const texts = [
      NetworkSettings.IPAddress,
      ...Object.values(NetworkSettings.Networks ?? {}).map((each) => each.IPAddress),
    ]
    const ip = texts.map((text) => parseIp(text ?? '')).find((each) => each !== undefined)
    if (ip !== undefined) return ip
    throw new EngineError('bad-answer', 'the container engine gave the sandbox container of the pod no address', {
      object: name,
    })
  }

  #labels({ uid, namespace, name }: PodSandbox): Record<string, string> {
    return { [ownerLabel]: this.#owner, [podLabel]: uid, 'platnet.name': `${namespace}/${name}` }
  }

  async #create(name: string, body: unknown): Promise<void> {
    await this.#call('POST', '/containers/create', { name }, body)
  }

  async #list(labels: readonly string[]): Promise<readonly Listed[]> {
    const query = { all: 'true', filters: JSON.stringify({ label: labels }) }
    return listSchema.parse(await this.#call('GET', '/containers/json', query))
  }

  /** Removes the sandbox containers last, because the others use their network. */
  async #removeAll(found: readonly Listed[]): Promise<void> {
    const joined = found.filter(({ Labels }) => Labels?.[containerLabel] !== undefined)
    const sandboxes = found.filter((each) => !joined.includes(each))
    for (const { Id } of [...joined, ...sandboxes]) await this.#remove(Id)
  }

  async #remove(id: string): Promise<void> {
    await orAbsent(this.#call('DELETE', `/containers/${id}`, { force: 'true', v: 'true' }))
  }

  #call(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    query: Record<string, string> = {},
    body?: unknown,
  ): Promise<unknown> {
    return this.#parts.engine.call({ method, path, query, ...(body === undefined ? {} : { body }) })
  }
}

/** Returns the rights and the limits of a container as fields of the engine's `HostConfig`. */
function hostConfigOf({ limits, security }: Launch) {
  const { cpuMillis, memoryBytes } = limits
  const { groups, capabilities, noNewPrivileges, isRootReadOnly } = security
  return {
    CapDrop: ['ALL'],
    CapAdd: capabilities,
    GroupAdd: groups.map(String),
    ReadonlyRootfs: isRootReadOnly,
    SecurityOpt: noNewPrivileges ? ['no-new-privileges'] : [],
    ...(memoryBytes === undefined ? {} : { Memory: memoryBytes }),
    ...(cpuMillis === undefined ? {} : { NanoCpus: cpuMillis * 1_000_000 }),
  }
}

function sandboxName({ uid }: PodSandbox): string {
  return `platnet-${uid}`
}

/** Returns the engine's name for one run of one container. */
export function containerName({ uid }: Pick<PodSandbox, 'uid'>, { container, attempt }: ContainerRun): string {
  return `platnet-${uid}-${container}-${attempt}`
}

/** Reads a stream to its end and returns at most its last `bytes` bytes. */
async function lastOf(chunks: AsyncIterable<Buffer>, bytes: number): Promise<Buffer> {
  let kept: Buffer[] = []
  let length = 0
  for await (const chunk of chunks) {
    kept.push(chunk)
    length += chunk.length
    // Joins rarely, because a chunk can be a single line.
    if (length > 2 * bytes) {
      kept = [Buffer.concat(kept).subarray(-bytes)]
      length = bytes
    }
  }
  return Buffer.concat(kept).subarray(-bytes)
}

function timeOf(text: string | null | undefined, otherwiseMs: number): number {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) || ms < 0 ? otherwiseMs : ms
}

async function orAbsent(request: Promise<unknown>): Promise<unknown> {
  try {
    return (await request) ?? {}
  } catch (error) {
    if (error instanceof EngineError && error.code === 'not-found') return undefined
    throw error
  }
}
