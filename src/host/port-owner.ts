import { readdir, readFile, readlink, realpath } from 'node:fs/promises'
import { basename, resolve } from 'node:path'

/** The process that holds a port. */
export interface PortOwner {
  readonly pid: number
  /** The program and its arguments. */
  readonly command: readonly string[]
}

export type Transport = 'tcp' | 'udp'

/** States of proc_net_tcp(5) in which a socket receives: LISTEN of TCP, and 07 of a UDP socket that is not connected. */
const receivingStates: Readonly<Record<Transport, string>> = { tcp: '0A', udp: '07' }

/**
 * Finds the process that receives on a port: of any address, or only on all addresses. Undefined where there is none, and where this user
 * may not see the files of the process.
 */
export async function findPortOwner(
  transport: Transport,
  port: number,
  { onAllAddresses = false }: { readonly onAllAddresses?: boolean } = {},
): Promise<PortOwner | undefined> {
  const tables = await Promise.all([transport, `${transport}6`].map(readTable))
  const sockets = tables
    .flatMap((text) => receivingSockets(text, receivingStates[transport], port))
    .filter(({ address }) => !onAllAddresses || /^0+$/.test(address))
  if (sockets.length === 0) return undefined
  return findHolder(new Set(sockets.map(({ inode }) => `socket:[${inode}]`)))
}

/**
 * Finds who listens on a unix socket. Undefined where no process of this network namespace does; without a pid where this user or this pid
 * namespace does not see the process. Source: `/proc/net/unix` in proc(5).
 */
export async function findSocketOwner(path: string): Promise<{ readonly pid: number | undefined } | undefined> {
  const wanted = await resolvePath(path)
  return findUnixListener(async (each) => basename(each) === basename(wanted) && (await resolvePath(each)) === wanted)
}

/** Finds who listens on a unix socket whose address fits, like `findSocketOwner`. The address of an abstract socket begins with `@`. */
export async function findUnixListener(
  fits: (address: string) => boolean | Promise<boolean>,
): Promise<{ readonly pid: number | undefined } | undefined> {
  const listeners = listeningUnixSockets(await readTable('unix'))
  const isFit = await Promise.all(listeners.map(({ path }) => fits(path)))
  const inodes = listeners.filter((_, index) => isFit[index]).map(({ inode }) => `socket:[${inode}]`)
  if (inodes.length === 0) return undefined
  return { pid: (await findHolder(new Set(inodes)))?.pid }
}

function resolvePath(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path))
}

/** Tells whether the process is a long-running command of this program, or a haproxy that it started. */
export function isOwnProcess({ command }: PortOwner, ownScript = process.argv[1] ?? ''): boolean {
  const [program = '', ...words] = command
  const script = words.findIndex((word) => basename(word) === basename(ownScript))
  if (script >= 0) return ['run', 'server', 'agent'].includes(words[script + 1] ?? '')
  return basename(program) === 'haproxy' && words.some((word) => word.includes('platnet'))
}

function readTable(name: string): Promise<string> {
  return readFile(`/proc/net/${name}`, 'utf8').catch(() => '')
}

function receivingSockets(text: string, state: string, port: number): { address: string; inode: string }[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  return text.split('\n').flatMap((line) => {
    const fields = line.trim().split(/\s+/)
    const [address = '', localPort] = (fields[1] ?? '').split(':')
    const inode = fields[9]
    return localPort === hexPort && fields[3] === state && inode !== undefined ? [{ address, inode }] : []
  })
}

/** `Num RefCount Protocol Flags Type St Inode Path`; the flag is __SO_ACCEPTCON. */
function listeningUnixSockets(text: string): readonly { readonly path: string; readonly inode: string }[] {
  return Array.from(text.matchAll(/^\S+ \S+ \S+ 00010000 \S+ \S+ +(\d+) ([/@].*)$/gm), ([, inode = '', path = '']) => {
    return { inode, path }
  })
}

async function findHolder(sockets: ReadonlySet<string>): Promise<PortOwner | undefined> {
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || !(await holdsOne(pid, sockets))) continue
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return { pid: Number(pid), command: command.split('\0').filter((word) => word !== '') }
  }
  return undefined
}

async function holdsOne(pid: string, sockets: ReadonlySet<string>): Promise<boolean> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => [])
  for (const descriptor of descriptors) {
    const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '')
    if (sockets.has(target)) return true
  }
  return false
}
