import { accessSync, constants, createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineClient, EngineError } from '../../host/index.ts'
import { readEngineLog } from './engine-log.ts'
import { containerName } from './engine-runtime.ts'
import { PodError } from './errors.ts'
import { listFolder, type PodFolders, type StoredPod } from './pod-folders.ts'
import type { ContainerRun } from './runtime.ts'

/** The output of one run of one container. */
interface LogSource {
  /** The folder with the files of the log, whose names sort by age. */
  readonly folder: string
  /** True when no more output can come. */
  readonly isOver: () => boolean
}

export interface LogRequest {
  readonly namespace: string
  readonly pod: string
  /** If undefined, the only container of the pod. */
  readonly container: string | undefined
  /** Read the run before the last one. */
  readonly previous: boolean
}

export interface LogOptions {
  /** Read until the container ends. */
  readonly follow: boolean
  /** The number of existing lines to read, from the end; all if undefined. */
  readonly tail?: number | undefined
  /** Ends the reading, that of an engine with an AbortError. A generator that waits for output takes no `return`. */
  readonly signal?: AbortSignal
}

const pollMs = 200
const newline = 10

/** Reads the output of a container of this node, without the agent, but with the engine that runs the container. Throws PodError `no-logs`, EngineError. */
export async function* readLog(folders: PodFolders, request: LogRequest, options: LogOptions): AsyncGenerator<Buffer> {
  const { record, run } = findRun(folders, request)
  const folder = folders.runFolder(record.uid, run)
  // The output of an engine's container is in the folder after its removal.
  if (record.engineSocket !== undefined && !existsSync(join(folder, 'log'))) {
    const engine = new EngineClient(record.engineSocket)
    try {
      yield* readEngineLog(engine, containerName(record, run), options)
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'not-found') throw error
      const message = `the engine has removed the container ${run.container} and its output`
      throw new PodError('no-logs', message, { object: `Pod ${record.namespace}/${record.name}`, cause: error })
    }
    return
  }
  if (!existsSync(folder)) throw hasNotRun(request, run.container)
  const isOver = () => record.engineSocket !== undefined || !existsSync(folder) || existsSync(join(folder, 'exit'))
  yield* followLog({ folder: join(folder, 'log'), isOver }, options)
}

function findRun(folders: PodFolders, request: LogRequest): { readonly record: StoredPod; readonly run: ContainerRun } {
  const { namespace, pod, container: wanted, previous } = request
  const object = `Pod ${namespace}/${pod}`
  const found = folders.readAll().pods.filter((each) => each.namespace === namespace && each.name === pod)
  const record = found.at(-1)
  if (record === undefined) {
    requireReadable(folders)
    throw new PodError('no-logs', 'no pod of this name runs on this node', {
      object,
      remedy:
        'run the command on the node of the pod ("kubectl get pods -o wide"), or give the folder of the pods with --pods-dir',
    })
  }
  const container = wanted === undefined ? onlyContainer(record, object) : knownContainer(record, wanted, object)
  const attempt = (record.containers[container]?.attempt ?? -1) - (previous ? 1 : 0)
  if (attempt < 0) throw hasNotRun(request, container)
  return { record, run: { container, attempt } }
}

function hasNotRun({ namespace, pod, previous }: LogRequest, container: string): PodError {
  const state = previous ? 'has not run before' : 'has not run yet'
  return new PodError('no-logs', `the container ${container} ${state}`, { object: `Pod ${namespace}/${pod}` })
}

/** Reads the log from its oldest file, or its last lines; with `follow` until the container ends. */
async function* followLog({ folder, isOver }: LogSource, { follow, tail, signal }: LogOptions): AsyncGenerator<Buffer> {
  let { piece, offset } = tail === undefined ? { piece: listFolder(folder)[0], offset: 0 } : findTail(folder, tail)
  for (;;) {
    // Checked before the read, so that the read below sees everything that was written until then.
    const wasOver = isOver()
    const pieces = listFolder(folder)
    piece ??= pieces[0]
    if (piece !== undefined) {
      for await (const chunk of readPiece(join(folder, piece), offset)) {
        offset += chunk.length
        yield chunk
      }
    }
    const next = pieces.find((each) => piece !== undefined && each > piece)
    if (next !== undefined) {
      ;[piece, offset] = [next, 0]
      continue
    }
    if (!follow || wasOver || signal?.aborted) return
    await sleep(pollMs)
  }
}

/** Finds the start of the last lines. Reads whole files, which are small, from the newest one. */
function findTail(folder: string, lines: number): { piece: string | undefined; offset: number } {
  const pieces = listFolder(folder)
  let left = lines
  // The newline at the end of the log does not start another line.
  let isEnd = true
  for (const piece of pieces.toReversed()) {
    const text = readWhole(join(folder, piece))
    if (left === 0) return { piece, offset: text.length }
    let end = isEnd && text.at(-1) === newline ? text.length - 1 : text.length
    isEnd &&= text.length === 0
    while (end > 0) {
      end = text.lastIndexOf(newline, end - 1)
      if (end >= 0) left -= 1
      if (left === 0) return { piece, offset: end + 1 }
    }
  }
  return { piece: pieces[0], offset: 0 }
}

/** Returns an empty buffer for a file that was rotated away. */
function readWhole(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch {
    return Buffer.alloc(0)
  }
}

/** Reads a file from `start`. A file that was rotated away or removed with its pod ends there. */
async function* readPiece(file: string, start: number): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(file, { start })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
}

/** Throws PodError EACCES if this user cannot see which pods there are. */
function requireReadable(folders: PodFolders): void {
  try {
    for (const uid of readdirSync(folders.root)) accessSync(folders.folder(uid), constants.R_OK | constants.X_OK)
  } catch (cause) {
    if (!isRefused(cause)) return
    throw new PodError('EACCES', `this user may not read the pods in ${folders.root}`, {
      remedy: 'run it as root',
      cause,
    })
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
}

function knownContainer({ containers }: StoredPod, wanted: string, object: string): string {
  if (Object.hasOwn(containers, wanted)) return wanted
  throw new PodError(
    'no-logs',
    `no container ${JSON.stringify(wanted)} has run in the pod: ${listContainers(containers)}`,
    {
      object,
    },
  )
}

function listContainers(containers: StoredPod['containers']): string {
  const names = Object.keys(containers)
  return names.length === 0 ? 'none has run yet' : `there is ${names.join(', ')}`
}

function onlyContainer({ containers }: StoredPod, object: string): string {
  const names = Object.keys(containers)
  const [name] = names
  if (name !== undefined && names.length === 1) return name
  const known = names.length === 0 ? 'none has run yet' : `one of: ${names.join(', ')}`
  throw new PodError('no-logs', `the pod has ${names.length} containers: name one (${known})`, {
    object,
    remedy: 'add --container NAME',
  })
}
