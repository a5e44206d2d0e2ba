import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeError } from '../model/errors.ts'

/** A wanted kernel setting. */
export interface SysctlWish {
  /** The path below /proc/sys: `net/ipv4/ip_forward`. */
  readonly name: string
  readonly value: number
  /** True if a larger value stays. */
  readonly atLeast?: boolean
  /** The feature that needs it, or the reason why it may be missing. */
  readonly why: string
}

export interface SysctlResult {
  readonly name: string
  readonly wanted: number
  /** Value; undefined if the kernel has no such setting, for example because a module is not loaded. */
  readonly was: number | undefined
  readonly now: number | undefined
  /** The reason why the value differs from the wanted one. */
  readonly problem?: string
}

/** Kernel settings that forwarding and translating traffic of Services needs. */
export const nodeSysctls: readonly SysctlWish[] = [
  { name: 'net/ipv4/ip_forward', value: 1, why: 'without it this node forwards nothing to pods' },
  {
    name: 'net/bridge/bridge-nf-call-iptables',
    value: 1,
    why: 'without it (or the module br_netfilter) pods on one bridge do not reach each other through a Service',
  },
]

/** NetworkPolicies need it on nodes with IPv6; Services there work without. */
export const bridgeIpv6Sysctl: SysctlWish = {
  name: 'net/bridge/bridge-nf-call-ip6tables',
  value: 1,
  why: 'without it (or the module br_netfilter) no NetworkPolicy holds between pods on one bridge by IPv6',
}

/** Settings of connection tracking; times in milliseconds, 0 keeps the current value. */
export interface ConntrackWishes {
  readonly maxPerCore: number
  readonly min: number
  readonly tcpEstablishedMs: number
  readonly tcpCloseWaitMs: number
  readonly tcpBeLiberal: boolean
  readonly udpMs: number
  readonly udpStreamMs: number
}

/**
 * Builds the conntrack settings that kube-proxy sets: a table of `maxPerCore` connections per core and at least `min`, in buckets of four,
 * and the timeouts. A larger table stays.
 */
export function conntrackSysctls(wishes: ConntrackWishes, cores: number): readonly SysctlWish[] {
  const { maxPerCore, min, tcpEstablishedMs, tcpCloseWaitMs, tcpBeLiberal, udpMs, udpStreamMs } = wishes
  const max = maxPerCore === 0 ? 0 : Math.max(maxPerCore * cores, min)
  const full = 'when the table of connections is full, new ones are dropped'
  const wish = (name: string, value: number, why: string, atLeast = false): readonly SysctlWish[] =>
    value === 0 ? [] : [{ name: `net/netfilter/nf_conntrack_${name}`, value, why, ...(atLeast && { atLeast }) }]
  const time = (name: string, ms: number, why: string) => wish(name, Math.ceil(ms / 1000), why)
  return [
    ...wish('max', max, full, true),
    ...wish('buckets', Math.floor(max / 4), 'long chains in the table of connections cost time for every packet', true),
    ...time(
      'tcp_timeout_established',
      tcpEstablishedMs,
      'connections that are quiet for longer lose their translation, and those that ended unseen stay as long',
    ),
    ...time(
      'tcp_timeout_close_wait',
      tcpCloseWaitMs,
      'a connection of which one side has closed loses its translation while the other side still sends',
    ),
    ...wish('tcp_be_liberal', Number(tcpBeLiberal), 'packets outside the window count as invalid'),
    ...time('udp_timeout', udpMs, 'a UDP client that was not answered is forgotten after this time'),
    ...time('udp_timeout_stream', udpStreamMs, 'a UDP client that was answered is forgotten after this time'),
  ]
}

/** Sets the values that differ. Never fails: a missing or read-only setting is reported with its reason. */
export async function applySysctls(
  wishes: readonly SysctlWish[],
  root = '/proc/sys',
): Promise<readonly SysctlResult[]> {
  return Promise.all(wishes.map((wish) => applySysctl(wish, root)))
}

/** Reads a setting; undefined if the kernel does not have it. */
export async function readSysctl(name: string, root = '/proc/sys'): Promise<number | undefined> {
  try {
    return Number((await readFile(join(root, name), 'utf8')).trim())
  } catch {
    return undefined
  }
}

export function isAsWished(wish: SysctlWish, value: number | undefined): boolean {
  return value !== undefined && (wish.atLeast === true ? value >= wish.value : value === wish.value)
}

async function applySysctl(wish: SysctlWish, root: string): Promise<SysctlResult> {
  const { name, value: wanted } = wish
  const was = await readSysctl(name, root)
  if (was === undefined) return { name, wanted, was, now: was, problem: `the kernel has no ${name}: ${wish.why}` }
  if (isAsWished(wish, was)) return { name, wanted, was, now: was }
  try {
    await writeFile(join(root, name), `${wanted}\n`)
  } catch (error) {
    return { name, wanted, was, now: was, problem: `${describeError(error)}: ${wish.why}` }
  }
  const now = await readSysctl(name, root)
  // In a network namespace the kernel accepts some values and does not keep them.
  return isAsWished(wish, now)
    ? { name, wanted, was, now }
    : { name, wanted, was, now, problem: `not kept: ${wish.why}` }
}
