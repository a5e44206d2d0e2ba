import { mkdtempSync, rmSync } from 'node:fs'
import { findFreePort } from '../../test/helpers/free-port.ts'
import { PlatnetServer, residentMiB } from '../../test/helpers/platnet-server.ts'
import type { BenchTarget } from './target.ts'

/** `platnet server` with nothing but its defaults. */
export async function createPlatnetTarget(folder: string): Promise<BenchTarget> {
  const dataDir = mkdtempSync(`${folder}/platnet-`)
  const server = new PlatnetServer(dataDir, await findFreePort())
  return {
    name: 'platnet',
    hasLoop: true,
    start: () => server.start(),
    residentMiB: () => residentMiB(server.pid),
    stop: async () => {
      await server.stop('SIGTERM')
    },
    remove: () => rmSync(dataDir, { recursive: true, force: true }),
  }
}
