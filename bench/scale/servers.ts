import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../../test/helpers/free-port.ts'
import { httpGet } from '../../test/helpers/http-get.ts'
import { type AdminAccess, PlatnetServer, readAdminAccess } from '../../test/helpers/platnet-server.ts'

/** A server under measurement; its data directory has the CA that signs the certificates of its agents. */
export interface ScaleServer {
  readonly dataDir: string
  readonly access: AdminAccess
}

interface Servers extends AsyncDisposable {
  readonly list: readonly ScaleServer[]
}

/** Returns the servers of BENCH_SCALE_SERVERS, data directories with commas between them; else one that is started here. */
export async function openServers(folder: string): Promise<Servers> {
  const named = (process.env['BENCH_SCALE_SERVERS'] ?? '').split(',').filter((dir) => dir !== '')
  if (named.length > 0) {
    const list = await Promise.all(named.map(async (dataDir) => ({ dataDir, access: await accessOf(dataDir) })))
    return { list, [Symbol.asyncDispose]: async () => {} }
  }
  const dataDir = mkdtempSync(`${folder}/platnet-`)
  const flags = ['--components=api', '--dialect', 'kubernetes', '--max-watches', '100000', '--console=false']
  const server = new PlatnetServer(dataDir, await findFreePort(), {}, flags)
  const access = await server.start()
  return {
    list: [{ dataDir, access }],
    [Symbol.asyncDispose]: async () => {
      await server.stop('SIGTERM')
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

function accessOf(dataDir: string): Promise<AdminAccess> {
  return readAdminAccess(join(dataDir, 'admin.kubeconfig'))
}

/** What a server has used up to now: processor seconds of all its threads, and resident memory. */
export interface ServerUsage {
  readonly cpuSeconds: number
  readonly residentMiB: number
  readonly atMs: number
}

export async function usageOf({ access }: ScaleServer): Promise<ServerUsage> {
  const { body } = await httpGet({ ...access, path: '/metrics' })
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1])
  return {
    cpuSeconds: read('process_cpu_seconds_total'),
    residentMiB: read('process_resident_memory_bytes') / 1024 / 1024,
    atMs: performance.now(),
  }
}

/** Processor time between two readings, as a share of one core. */
export function coresBetween(before: ServerUsage, after: ServerUsage): number {
  return (after.cpuSeconds - before.cpuSeconds) / ((after.atMs - before.atMs) / 1000)
}
