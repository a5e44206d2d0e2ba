import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createConnection } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  ExecError,
  findGroupLeaders,
  findProcess,
  isAlive,
  type ProcessIdentity,
  type Run,
  runProgram,
  signalGroup,
  signalProcess,
  startDetached,
} from '../../../host/index.ts'
import type { Logger } from '../../../observe/index.ts'
import { askInfo, askProcesses, type ShownProcesses, type WorkerInfo } from './ask-haproxy.ts'
import { configFile, type HaproxyFiles } from './config.ts'
import { HaproxyError } from './errors.ts'
import { RuntimeSocket, withSocket } from './runtime-socket.ts'
import { filesFolderOf, type HaproxyPaths, type HaproxySettings, haproxyPaths } from './settings.ts'

/** Environment variable by which a haproxy of this folder is found again. */
const marker = 'PLATNET_INGRESS'
const startTimeoutMs = 30_000
const stopTimeoutMs = 5000
const pollMs = 10
/** Time in which a program that was started becomes the leader of its process group. */
const graceMs = 1000
/** Workers that a reload replaced; beyond this number the oldest one ends its connections at once. */
const maxOldWorkers = 4
const filesFolder = /^files-(\d+)$/

/** The haproxy of one folder: its files, its master and its workers. It outlives this process. */
export class HaproxyProcess {
  readonly paths: HaproxyPaths
  readonly #run: Run

  constructor(folder: string, run: Run = runProgram) {
    this.paths = haproxyPaths(folder)
    this.#run = run
  }

  /** Finds the running master; undefined if there is none. A master that runs its own program again, as on a reload, is not seen for a moment. */
  async find(): Promise<ProcessIdentity | undefined> {
    const deadlineMs = performance.now() + graceMs
    for (;;) {
      const found = this.#findLeader()
      if (found !== undefined || performance.now() > deadlineMs) return found
      if ((await this.info().catch(() => undefined)) === undefined) return undefined
      await sleep(pollMs)
    }
  }

  #findLeader(): ProcessIdentity | undefined {
    return findMasters().find(({ environment }) => environment.get(marker) === this.paths.folder)
  }

  /** The number of the folder that new files get. */
  nextGeneration(): number {
    const numbers = existsSync(this.paths.folder) ? readdirSync(this.paths.folder).map(generationOf) : []
    return Math.max(0, ...numbers) + 1
  }

  /** Writes files into a folder of their own; they are not used until `start` or `reload`. */
  writeFiles(files: HaproxyFiles, generation: number): void {
    this.#makeFolders()
    const folder = filesFolderOf(this.paths.folder, generation)
    rmSync(folder, { recursive: true, force: true })
    for (const [name, text] of files) {
      mkdirSync(dirname(join(folder, name)), { recursive: true, mode: 0o700 })
      writeFileSync(join(folder, name), text, { mode: 0o600 })
    }
  }

  /** Writes files and has haproxy check them. Throws HaproxyError (`refused-config`) with the messages of haproxy, and removes the files then. */
  async writeChecked(files: HaproxyFiles, generation: number): Promise<void> {
    this.writeFiles(files, generation)
    const folder = filesFolderOf(this.paths.folder, generation)
    try {
      await this.#run('haproxy', ['-c', '-f', join(folder, configFile)], {
        timeoutMs: 60_000,
        maxOutputBytes: 1 << 20,
      })
    } catch (thrown) {
      rmSync(folder, { recursive: true, force: true })
      throw explainCheck(thrown)
    }
  }

  /**
   * Starts haproxy with the files of a generation and returns its master once a worker accepts connections. It takes the listening sockets that
   * `kept` offers, the path of a socket, and opens those that are not among them.
   */
  async start(generation: number, kept?: string): Promise<ProcessIdentity> {
    this.#use(generation)
    const { folder, masterSocket, current, messages, accessLog } = this.paths
    writeFileSync(messages, '', { mode: 0o600 })
    await this.#makeAccessLog()
    const taken = kept === undefined ? [] : ['-x', kept]
    const command = ['haproxy', '-W', '-S', `${masterSocket},mode,600`, ...taken, '-f', join(current, configFile)]
    const environment = [
      `${marker}=${folder}`,
      'PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin',
      'LC_ALL=C',
    ]
    // Opened for reading too, a FIFO never fails and never blocks: without a reader haproxy drops lines.
    const script = 'ulimit -c 0; cd /; out=$1 err=$2; shift 2; exec "$@" 1<>"$out" 2>>"$err"'
    await startDetached(
      'env',
      ['-i', ...environment, 'sh', '-c', script, 'sh', accessLog, messages, ...command],
      { env: {} },
      this.#run,
    )
    await this.#untilServing(generation)
    const master = await this.find()
    if (master === undefined) throw this.#startFailure('haproxy ended at once')
    return master
  }

  /** Replaces the worker by one with the files of a generation; connections of the old one stay. Throws HaproxyError (`not-reloaded`). */
  async reload(generation: number): Promise<void> {
    const before = await this.processes()
    this.#endOldest(before.oldWorkers)
    this.#use(generation)
    await this.#askMaster((socket) => socket.ask('reload')).catch(expectClosed)
    await this.#untilServing(generation, before.failedReloads)
  }

  /** Resolves when the master closes its socket: it ended, or runs its own program again as on a reload; at once where none answers. */
  async untilMasterCloses({ signal }: { signal: AbortSignal }): Promise<void> {
    const socket = createConnection(this.paths.masterSocket)
    socket.on('error', () => {})
    socket.resume()
    const close = () => socket.destroy()
    signal.addEventListener('abort', close)
    await new Promise((resolve) => socket.on('close', resolve))
    signal.removeEventListener('abort', close)
  }

  info(): Promise<WorkerInfo> {
    return withSocket(this.paths.runtimeSocket, askInfo)
  }

  processes(): Promise<ShownProcesses> {
    return this.#askMaster(askProcesses)
  }

  /** Lets `use` ask the worker that accepts connections now. */
  ask<T>(use: (socket: RuntimeSocket) => Promise<T>): Promise<T> {
    return withSocket(this.paths.runtimeSocket, use)
  }

  /** Asks workers that a reload replaced, by way of the master; without those that are gone. */
  async askWorkers(pids: readonly number[], command: string): Promise<ReadonlyMap<number, string>> {
    const answers = new Map<number, string>()
    if (pids.length === 0) return answers
    await this.#askMaster(async (socket) => {
      for (const pid of pids) answers.set(pid, await socket.ask(`@!${pid} ${command}`))
    })
    return answers
  }

  /** Ends haproxy with all its connections and removes its folder. */
  async remove(): Promise<void> {
    const master = await this.find()
    if (master !== undefined) {
      signalGroup(master, 'SIGTERM')
      const deadlineMs = performance.now() + stopTimeoutMs
      while (isAlive(master) && performance.now() < deadlineMs) await sleep(pollMs)
      signalGroup(master, 'SIGKILL')
    }
    rmSync(this.paths.folder, { recursive: true, force: true })
  }

  /** After a start and a reload the master runs its own program again, and its socket is closed for a moment. */
  async #askMaster<T>(use: (socket: RuntimeSocket) => Promise<T>): Promise<T> {
    const deadlineMs = performance.now() + graceMs
    for (;;) {
      try {
        using socket = await RuntimeSocket.open(this.paths.masterSocket)
        return await use(socket)
      } catch (error) {
        if (performance.now() > deadlineMs || !isNotOpen(error)) throw error
      }
      await sleep(pollMs)
    }
  }

  #makeFolders(): void {
    mkdirSync(this.paths.folder, { recursive: true, mode: 0o700 })
    mkdirSync(this.paths.emptyRoot, { recursive: true, mode: 0o755 })
  }

  async #makeAccessLog(): Promise<void> {
    if (!existsSync(this.paths.accessLog))
      await this.#run('mkfifo', ['-m', '600', this.paths.accessLog], { timeoutMs: 5000 })
  }

  /** Makes a generation the current one and removes the others; a running haproxy has its files in memory. */
  #use(generation: number): void {
    const { folder, current } = this.paths
    const next = join(folder, 'next')
    rmSync(next, { force: true })
    symlinkSync(`files-${generation}`, next)
    renameSync(next, current)
    const used = readlinkSync(current)
    for (const name of readdirSync(folder))
      if (filesFolder.test(name) && name !== used) rmSync(join(folder, name), { recursive: true, force: true })
  }

  async #untilServing(generation: number, failedReloads = 0): Promise<void> {
    const startedMs = performance.now()
    while (performance.now() < startedMs + startTimeoutMs) {
      const info = await this.info().catch(() => undefined)
      if (info?.generation === generation) return
      await sleep(pollMs)
      const shown = await withSocket(this.paths.masterSocket, askProcesses).catch(() => undefined)
      if (shown !== undefined && shown.failedReloads > failedReloads) throw this.#startFailure('haproxy did not reload')
      const isStarting = performance.now() < startedMs + graceMs
      if (shown === undefined && !isStarting && this.#findLeader() === undefined)
        throw this.#startFailure('haproxy ended while it started')
    }
    throw this.#startFailure(`haproxy does not serve after ${startTimeoutMs} ms`)
  }

  #endOldest(oldWorkers: readonly number[]): void {
    const excess = oldWorkers.length + 1 - maxOldWorkers
    const identities = oldWorkers.map(findProcess).filter((each) => each !== undefined)
    const oldest = identities.sort((one, other) => one.startTicks - other.startTicks).slice(0, Math.max(0, excess))
    for (const worker of oldest) signalProcess(worker, 'SIGTERM')
  }

  #startFailure(what: string): HaproxyError {
    const said = alertsOf(readTail(this.paths.messages)).join('; ')
    return new HaproxyError(
      what.includes('reload') ? 'not-reloaded' : 'not-started',
      said === '' ? what : `${what}: ${said}`,
    )
  }
}

/** Ends every haproxy that agents in this network namespace have left, and removes its files. Returns a line for each. */
export async function cleanupHaproxy(): Promise<readonly string[]> {
  const own = networkOf('self')
  const masters = findMasters().filter(({ pid }) => own !== undefined && networkOf(pid) === own)
  const folders = masters.map(({ environment }) => environment.get(marker) ?? '')
  for (const folder of folders) await new HaproxyProcess(folder).remove()
  return folders.map((folder) => `ended the haproxy of ${folder}`)
}

/** Tells whether haproxy can be started here with this folder: it is installed, and this process may change the user and root of its workers. */
export function canRunHaproxy(folder: string): boolean {
  const isInstalled = ['/usr/local/sbin', '/usr/sbin', '/sbin'].some((each) => existsSync(join(each, 'haproxy')))
  if (!isInstalled || process.getuid?.() !== 0) return false
  try {
    haproxyPaths(folder)
    return true
  } catch {
    return false
  }
}

/** Reads the hard limit of open files, which haproxy takes over from this process (proc_pid_limits(5)). */
export function openFileLimit(): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return hard === undefined || hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard)
}

/** Finds masters by their environment, which a process of another user could imitate. */
function findMasters(): ReturnType<typeof findGroupLeaders> {
  return findGroupLeaders(marker).filter(({ pid }) => {
    try {
      return statSync(`/proc/${pid}`).uid === process.getuid?.()
    } catch {
      return false
    }
  })
}

function networkOf(pid: number | 'self'): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`)
  } catch {
    return undefined
  }
}

/** Reads what haproxy reports as `[ALERT]`, without its process number. */
function alertsOf(text: string): readonly string[] {
  const alerts = text.split('\n').filter((line) => line.startsWith('[ALERT]'))
  return alerts.map((line) => line.replace(/^\[ALERT\]\s*\(\d+\)\s*:\s*/, '').slice(0, 500)).slice(-5)
}

function generationOf(name: string): number {
  return Number(filesFolder.exec(name)?.[1] ?? 0)
}

function readTail(file: string): string {
  try {
    return readFileSync(file, 'utf8').slice(-16_384)
  } catch {
    return ''
  }
}

function explainCheck(thrown: unknown): unknown {
  if (!(thrown instanceof ExecError) || thrown.code !== 'failed') return thrown
  const said = alertsOf(thrown.stderr).join('; ')
  return new HaproxyError('refused-config', `haproxy refuses its configuration: ${said}`, { cause: thrown })
}

/** Tells whether the socket was not open; a connection that was closed later may have asked for something. */
function isNotOpen(thrown: unknown): boolean {
  return thrown instanceof HaproxyError && thrown.code === 'no-answer' && thrown.cause !== undefined
}

/** The master closes the connection on which it was asked to reload. */
function expectClosed(thrown: unknown): void {
  if (!(thrown instanceof HaproxyError && thrown.code === 'no-answer')) throw thrown
}

/** Logs that the limit of open files allows fewer connections than configured; a warning only where an operator configured them. */
export function logFewerConnections(
  { limits, hasDefaultConnections, log }: HaproxySettings & { hasDefaultConnections?: boolean; log: Logger },
  possible: number,
): void {
  const wanted = limits.maxConnections
  if (possible >= wanted) return
  const level = hasDefaultConnections === true ? 'info' : 'warn'
  log[level]('the limit of open files allows fewer connections than configured', { wanted, possible })
}
