import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PodError } from './errors.ts'
import { listFolder, type PodFolders, type StoredPod } from './pod-folders.ts'

/** The output of one run of one container. */
export interface LogSource {
  /** Holds the pieces of the log. */
  readonly folder: string
  /** True once nothing more will come. */
  readonly isOver: () => boolean
}

export interface LogRequest {
  readonly namespace: string
  readonly pod: string
  /** The pod's only one when absent. */
  readonly container: string | undefined
  /** The run before the last one. */
  readonly previous: boolean
}

const pollMs = 200

/** Where the log of a container of this node is; needs no agent. Throws PodError `no-logs`. */
export function findPodLogs(folders: PodFolders, { namespace, pod, container, previous }: LogRequest): LogSource {
  const object = `Pod ${namespace}/${pod}`
  const found = folders.readAll().pods.filter((each) => each.namespace === namespace && each.name === pod)
  const record = found.at(-1)
  if (record === undefined) {
    throw new PodError('no-logs', 'no pod of that name runs on this node', {
      object,
      remedy: 'ask on the node that runs it ("kubectl get pods -o wide"), or say where its pods are with --pods-dir',
    })
  }
  const name = container ?? onlyContainer(record, object)
  const last = record.containers[name]?.attempt
  const attempt = last === undefined ? undefined : last - (previous ? 1 : 0)
  const folder = attempt === undefined ? '' : folders.runFolder(record.uid, { container: name, attempt })
  if (attempt === undefined || attempt < 0 || !existsSync(folder)) {
    const run = previous ? 'has not run before' : 'has not run yet'
    throw new PodError('no-logs', `the container ${name} ${run}`, { object })
  }
  return { folder: join(folder, 'log'), isOver: () => !existsSync(folder) || existsSync(join(folder, 'exit')) }
}

/** The log from its oldest piece; with `follow` until the container ends. */
export async function* followLog(
  { folder, isOver }: LogSource,
  { follow }: { readonly follow: boolean },
): AsyncGenerator<Buffer> {
  let [piece, offset] = [listFolder(folder)[0], 0]
  for (;;) {
    // Asked before reading: what was written until then is read below.
    const wasOver = isOver()
    const pieces = listFolder(folder)
    piece ??= pieces[0]
    if (piece !== undefined) {
      for await (const chunk of createReadStream(join(folder, piece), { start: offset }).on('error', () => {})) {
        offset += chunk.length
        yield chunk
      }
    }
    const next = pieces.find((each) => piece !== undefined && each > piece)
    if (next !== undefined) {
      ;[piece, offset] = [next, 0]
      continue
    }
    if (!follow || wasOver) return
    await sleep(pollMs)
  }
}

function onlyContainer({ containers }: StoredPod, object: string): string {
  const names = Object.keys(containers)
  const [name] = names
  if (name !== undefined && names.length === 1) return name
  const known = names.length === 0 ? 'none has run yet' : `one of: ${names.join(', ')}`
  throw new PodError('no-logs', `the pod has ${names.length} containers: say which (${known})`, {
    object,
    remedy: 'add --container NAME',
  })
}
