import { createReadStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Store } from './store/index.ts'

/** Sends the store's file as of now, without later writes. Only superusers and users with access to this path reach it. */
export async function sendBackup(store: Store, response: ServerResponse): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'platnet-backup-'))
  try {
    const path = join(folder, 'state.db')
    await store.backup(path)
    const { size } = await stat(path)
    response.writeHead(200, { 'content-type': 'application/vnd.sqlite3', 'content-length': size })
    await pipeline(createReadStream(path), response)
    return size
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
