import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeError } from '../model/errors.ts'

/** A kernel setting as it should be. */
export interface SysctlWish {
  /** As under /proc/sys: `net/ipv4/ip_forward`. */
  readonly name: string
  readonly value: number
  /** A larger value than this is left alone. */
  readonly atLeast?: boolean
  /** What does not work without it, or why it may be missing. */
  readonly why: string
}

export interface SysctlResult {
  readonly name: string
  readonly wanted: number
  /** Undefined where the kernel has no such setting, for example because a module is not loaded. */
  readonly was: number | undefined
  readonly now: number | undefined
  /** Why it is not as wanted. */
  readonly problem?: string
}

/** What forwarding and translating traffic of Services needs of the kernel. */
export const nodeSysctls: readonly SysctlWish[] = [
  { name: 'net/ipv4/ip_forward', value: 1, why: 'without it this node forwards nothing to pods' },
  {
    name: 'net/bridge/bridge-nf-call-iptables',
    value: 1,
    why: 'without it (or the module br_netfilter) pods on one bridge do not reach each other through a Service',
  },
  {
    name: 'net/netfilter/nf_conntrack_max',
    value: 131_072,
    atLeast: true,
    why: 'when the table of connections is full, new ones are dropped',
  },
  {
    name: 'net/netfilter/nf_conntrack_tcp_timeout_established',
    value: 86_400,
    atLeast: true,
    why: 'connections that are quiet for longer lose their translation',
  },
]

/** Sets what is not as wished. Never fails: a setting that is missing or read-only is reported with the reason. */
export async function applySysctls(
  wishes: readonly SysctlWish[],
  root = '/proc/sys',
): Promise<readonly SysctlResult[]> {
  return Promise.all(wishes.map((wish) => applySysctl(wish, root)))
}

/** Undefined where the kernel has no such setting. */
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
  // In a network namespace some values are taken without complaint and not kept.
  return isAsWished(wish, now)
    ? { name, wanted, was, now }
    : { name, wanted, was, now, problem: `not kept: ${wish.why}` }
}
