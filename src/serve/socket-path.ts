import { once } from 'node:events'
import { lstat, mkdir, rm } from 'node:fs/promises'
import { createConnection, type Server } from 'node:net'
import { dirname } from 'node:path'
import { ServeError } from './serve-error.ts'

/** Frees the path for a new socket. Throws a ServeError if a live process owns the socket or the path is a file of another type. */
export async function claimSocketPath(name: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const existing = await lstat(path).catch(() => undefined)
  if (existing === undefined) return
  if (!existing.isSocket()) {
    const remedy = 'move that file away or choose another path'
    throw new ServeError('not-a-socket', `${name} cannot listen on ${path}: a file is there`, { object: path, remedy })
  }
  if (await isAnswered(path)) {
    const remedy = 'stop the other process (two agents on one machine would undo each other) or choose another path'
    throw new ServeError('address-in-use', `${name} cannot listen on ${path}: a live process does`, {
      object: path,
      remedy,
    })
  }
  await rm(path, { force: true })
}

/** Sets the umask during the call, so that the socket has its mode from the start: before a later chmod any user could connect. libuv binds within the call. */
export function listenPrivately(server: Server, path: string): void {
  const before = process.umask(0o177)
  try {
    server.listen(path)
  } finally {
    process.umask(before)
  }
}

/** Tells whether a process listens on the socket: only ECONNREFUSED proves that none does, any other answer may come from a busy one. */
async function isAnswered(path: string): Promise<boolean> {
  const socket = createConnection(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && ['ECONNREFUSED', 'ENOENT'].includes(String(error.code)))
  } finally {
    socket.destroy()
  }
}
