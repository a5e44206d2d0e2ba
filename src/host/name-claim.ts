import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { findUnixListener } from './port-owner.ts'

/** The process that holds a name; without a pid where this pid namespace does not see it. */
export interface NameHolder {
  readonly pid: number | undefined
  /** Undefined where the pid is. */
  readonly uid: number | undefined
}

/**
 * Takes a name that one process of a network namespace can hold: the address of an abstract unix socket (unix(7)). The kernel frees it when the
 * process ends, however it ends, and keeps it apart by network namespace alone, also for containers with files of their own. Returns false where
 * another process holds it.
 */
export function claimName(name: string): Promise<boolean> {
  const server = createServer((socket) => socket.destroy())
  server.unref()
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    })
    server.listen(`\0${name}`, () => resolve(true))
  })
}

/** Finds who holds a name; undefined where no process does. */
export async function findNameHolder(name: string): Promise<NameHolder | undefined> {
  const found = await findUnixListener((path) => path === `@${name}`)
  return found && { pid: found.pid, uid: await findUid(found.pid) }
}

async function findUid(pid: number | undefined): Promise<number | undefined> {
  const status = pid === undefined ? '' : await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const uid = /^Uid:\t(\d+)/m.exec(status)?.[1]
  return uid === undefined ? undefined : Number(uid)
}
