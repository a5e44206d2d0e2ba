import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { chmod, mkdir, open, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseIp } from '../../model/ip.ts'
import type { PodRecord } from './plan.ts'
import type { ContainerRun, PodSandbox } from './runtime.ts'

const ip = z.string().transform((text, context) => {
  const parsed = parseIp(text)
  if (parsed !== undefined) return parsed
  context.addIssue('expected an IP address')
  return z.NEVER
})

const endSchema = z.object({
  kind: z.literal('exited'),
  exitCode: z.number().optional(),
  startedAtMs: z.number(),
  finishedAtMs: z.number(),
  isOutOfMemory: z.boolean().optional(),
})

const recordSchema = z.object({
  uid: z.string(),
  namespace: z.string(),
  name: z.string(),
  hostNetwork: z.boolean(),
  image: z.string().default(''),
  engineSocket: z.string().optional(),
  portMappings: z.array(
    z.object({
      hostPort: z.number(),
      containerPort: z.number(),
      protocol: z.enum(['tcp', 'udp', 'sctp']),
      hostIP: ip.optional(),
    }),
  ),
  bandwidth: z
    .object({
      ingressRate: z.number().optional(),
      ingressBurst: z.number().optional(),
      egressRate: z.number().optional(),
      egressBurst: z.number().optional(),
    })
    .optional(),
  sandbox: z.enum(['none', 'making', 'ready', 'removing']),
  ips: z.array(ip),
  containers: z.record(
    z.string(),
    z.object({
      attempt: z.int(),
      level: z.int(),
      stopAtMs: z.number().optional(),
      end: endSchema.optional(),
    }),
  ),
  graceSeconds: z.int().min(0).optional(),
  stop: z.object({ atMs: z.number(), graceSeconds: z.number() }).optional(),
})

/** The record of a pod: its progress, and everything that its removal needs. */
export type StoredPod = PodRecord & PodSandbox

/** The network files of a pod: their texts, or their paths on the host. */
export interface PodFiles {
  /** `/etc/resolv.conf` */
  readonly resolver: string
  /** `/etc/hosts` */
  readonly hosts: string
}

const recordFile = 'pod.json'

/** The folders of this node's pods, one per uid, with the record, the network files and the runs of the containers. */
export class PodFolders {
  readonly root: string
  /** The folder of volumes, on a tmpfs by default, because volumes contain tokens and Secrets. */
  readonly volumesRoot: string

  constructor(root: string, volumesRoot: string = volumesRootOf(root)) {
    this.root = root
    this.volumesRoot = volumesRoot
  }

  /** Contains a folder for each volume of the pod, with the name of the volume. */
  volumesFolder(uid: string): string {
    return join(this.volumesRoot, uid)
  }

  folder(uid: string): string {
    return join(this.root, uid)
  }

  runFolder(uid: string, { container, attempt }: ContainerRun): string {
    return join(this.folder(uid), 'containers', container, String(attempt))
  }

  /** Returns the paths of the network files. */
  files(uid: string): PodFiles {
    const folder = this.folder(uid)
    return { resolver: join(folder, 'resolv.conf'), hosts: join(folder, 'hosts') }
  }

  /** Writes the network files, readable for every user of a container. */
  async writeFiles(uid: string, texts: PodFiles): Promise<void> {
    await mkdir(this.folder(uid), { recursive: true, mode: 0o700 })
    const { resolver, hosts } = this.files(uid)
    for (const [file, text] of [
      [resolver, texts.resolver],
      [hosts, texts.hosts],
    ] as const) {
      await writeFile(file, text)
      await chmod(file, 0o644)
    }
  }

  /** Reads all records. `unreadable` has the uids whose record is missing or incomplete. */
  readAll(): { readonly pods: readonly StoredPod[]; readonly unreadable: readonly string[] } {
    const pods: StoredPod[] = []
    const unreadable: string[] = []
    for (const uid of listFolder(this.root)) {
      const record = this.#read(uid)
      if (record === undefined) unreadable.push(uid)
      else pods.push(record)
    }
    return { pods, unreadable }
  }

  /** Writes a record; it is durable when the promise resolves (written to a temporary file, synced, renamed). */
  async write(record: StoredPod): Promise<void> {
    const folder = this.folder(record.uid)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = join(folder, recordFile)
    const handle = await open(`${file}.new`, 'w', 0o600)
    try {
      await handle.writeFile(JSON.stringify(record))
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(`${file}.new`, file)
  }

  /** Removes the record, the network files and the logs. */
  remove(uid: string): void {
    rmSync(this.folder(uid), { recursive: true, force: true })
  }

  #read(uid: string): StoredPod | undefined {
    try {
      const parsed = recordSchema.safeParse(JSON.parse(readFileSync(join(this.folder(uid), recordFile), 'utf8')))
      return parsed.success && parsed.data.uid === uid ? (parsed.data as StoredPod) : undefined
    } catch {
      return undefined
    }
  }
}

/** Returns a folder for each folder of pods, so that two agents on one machine do not share it. */
function volumesRootOf(root: string): string {
  return join('/run/platnet/volumes', createHash('sha256').update(root).digest('hex').slice(0, 12))
}

/** Returns the sorted names in a folder; none if it does not exist. */
export function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch {
    return []
  }
}
