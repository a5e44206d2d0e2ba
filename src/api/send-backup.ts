import { createReadStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Store } from './store/index.ts'

/** Answers with the store's file as of now; what is written meanwhile is not in it. Only superusers, and who was given this path, get here. */
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
