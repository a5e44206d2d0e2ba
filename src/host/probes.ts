import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { basename } from 'node:path'
import { describeError } from '../model/errors.ts'
import { findPortOwner, isOwnProcess, type PortOwner } from './port-owner.ts'
import { hasNetAdmin } from './privilege.ts'
import { ExecError, type Run, runProgram } from './programs/index.ts'
import { isAsWished, nodeSysctls, readSysctl, type SysctlWish } from './sysctl.ts'

/** One finding of `platnet check`. */
export interface Finding {
  readonly level: 'ok' | 'warn' | 'fail'
  /** The probed thing and its state, in one sentence. */
  readonly what: string
  /** The remedy; absent at level `ok`. */
  readonly remedy?: string
}

export async function probePrivilege(statusPath?: string): Promise<readonly Finding[]> {
  if (await hasNetAdmin(statusPath)) return [{ level: 'ok', what: 'this process may change network settings' }]
  const remedy = 'run as root, or give the unit AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW CAP_SYS_ADMIN'
  return [{ level: 'fail', what: 'this process lacks CAP_NET_ADMIN', remedy }]
}

/** A required program and the Debian package that contains it. */
export interface NeededProgram {
  readonly file: string
  readonly package: string
  /** The feature that does not work without it. */
  readonly usedFor: string
  readonly isOptional?: boolean
}

export const nodePrograms: readonly NeededProgram[] = [
  { file: 'iptables', package: 'iptables', usedFor: 'Services' },
  { file: 'iptables-restore', package: 'iptables', usedFor: 'Services' },
  { file: 'ip', package: 'iproute2', usedFor: 'pod networks' },
  {
    file: 'conntrack',
    package: 'conntrack',
    usedFor: 'moving UDP clients off endpoints that are gone',
    isOptional: true,
  },
]

/** Probes the programs with `-V`, which all of them accept. */
export function probePrograms(programs: readonly NeededProgram[], run: Run = runProgram): Promise<readonly Finding[]> {
  return Promise.all(programs.map((program) => probeProgram(program, run)))
}

async function probeProgram(program: NeededProgram, run: Run): Promise<Finding> {
  try {
    await run(program.file, ['-V'], { timeoutMs: 5000 })
    return { level: 'ok', what: `${program.file} is installed` }
  } catch (error) {
    // Some print their version and exit other than 0; only their presence matters.
    if (!(error instanceof ExecError) || error.code !== 'not-found') {
      return { level: 'warn', what: `${program.file} does not tell its version: ${describeError(error)}` }
    }
    const level = program.isOptional ? 'warn' : 'fail'
    const what = `${program.file} is missing, which ${program.usedFor} need${program.isOptional ? 's' : ''}`
    return { level, what, remedy: `apt-get install ${program.package}` }
  }
}

/** Probes kernel settings without a change; `applySysctls` sets them at start. */
export async function probeSysctls(
  wishes: readonly SysctlWish[] = nodeSysctls,
  root?: string,
): Promise<readonly Finding[]> {
  return Promise.all(
    wishes.map(async (wish) => {
      const value = await readSysctl(wish.name, root)
      if (isAsWished(wish, value)) return { level: 'ok', what: `${wish.name} is ${value}` }
      const remedy = `platnet sets it at start where it may; by hand: sysctl -w ${wish.name.replaceAll('/', '.')}=${wish.value}`
      return { level: 'warn', what: `${wish.name} is ${value ?? 'missing'}: ${wish.why}`, remedy }
    }),
  )
}

export interface Listener {
  readonly protocol: 'tcp' | 'udp'
  readonly address: string
  readonly port: number
  /** The option that chooses the port, with its dashes. */
  readonly option: string
  /** An IPv6 address takes no IPv4 connections. */
  readonly ipv6Only?: boolean
  /** The agent adds the address to this machine when it starts. */
  readonly isOwnAddress?: boolean
}

/** Opens each listener and closes it at once. */
export function probePorts(listeners: readonly Listener[]): Promise<readonly Finding[]> {
  return Promise.all(listeners.map(probePort))
}

async function probePort(listener: Listener): Promise<Finding> {
  const { protocol, address, port, ipv6Only = false } = listener
  const where = `${protocol} port ${port} on ${address}`
  try {
    await (protocol === 'tcp' ? tryTcp(address, port, ipv6Only) : tryUdp(address, port))
    return { level: 'ok', what: `${where} is free` }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE') return describeTaken(listener, where, await findPortOwner(protocol, port))
    if (code === 'EADDRNOTAVAIL' && listener.isOwnAddress === true) return probeOnAllAddresses(listener, where)
    const what = `${where} cannot be opened: ${describeError(error)}`
    return { level: 'fail', what, remedy: `choose another with ${listener.option}` }
  }
}

/** The agent adds the address at its start; only a socket on all addresses is then in its way. */
async function probeOnAllAddresses(listener: Listener, where: string): Promise<Finding> {
  const owner = await findPortOwner(listener.protocol, listener.port, { onAllAddresses: true })
  return owner ? describeTaken(listener, where, owner) : { level: 'ok', what: `${where} is free` }
}

function describeTaken({ protocol, port, option }: Listener, where: string, owner: PortOwner | undefined): Finding {
  if (owner && isOwnProcess(owner))
    return { level: 'ok', what: `${where} is served by this program (pid ${owner.pid})` }
  const by = owner ? ` by ${basename(owner.command[0] ?? 'a process')} (pid ${owner.pid})` : hiddenOwner()
  const who = owner ? 'it' : `what \`ss -lnp${protocol === 'tcp' ? 't' : 'u'} 'sport = :${port}'\` shows`
  return { level: 'fail', what: `${where} is in use${by}`, remedy: `choose another with ${option}, or stop ${who}` }
}

/** Only root sees the sockets of all processes. */
function hiddenOwner(): string {
  return process.geteuid?.() === 0 ? '' : ', perhaps by this program: run the check as root to know'
}

function tryTcp(address: string, port: number, ipv6Only: boolean): Promise<void> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // An address of each family is probed at once.
    server.listen({ host: address, port, exclusive: true, ipv6Only }, () => server.close(() => resolve()))
  })
}

function tryUdp(address: string, port: number): Promise<void> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  return new Promise((resolve, reject) => {
    socket.once('error', (error) => socket.close(() => reject(error)))
    socket.bind({ address, port, exclusive: true }, () => socket.close(() => resolve()))
  })
}
