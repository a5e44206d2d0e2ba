import { type Cidr, hostCidr, type Ip, ipFamily } from '../model/ip.ts'
import { runProgram } from './exec.ts'
import { checkNetnsName, NetworkNameError } from './netns.ts'

/** A network interface; without `netns` it is one of the namespace this process runs in. */
export interface Link {
  readonly name: string
  readonly netns?: string
}

/** An address of an interface with the length of its network's prefix. */
export interface LinkAddress {
  readonly ip: Ip
  readonly prefixLength: number
}

export interface Route {
  readonly destination: Cidr | 'default'
  readonly via: Ip
  readonly netns?: string
}

/** Makes a bridge and brings it up. Throws ExecError where the name is taken; so do all functions here that make something. */
export async function createBridge(bridge: Link): Promise<void> {
  await runIp(bridge, ['link', 'add', 'name', bridge.name, 'type', 'bridge'])
  await setLinkUp(bridge)
}

/** Makes both ends where they belong and brings them up. */
export async function createVethPair(left: Link, right: Link): Promise<void> {
  checkLink(right)
  const rightNetns = right.netns === undefined ? ['netns', String(process.pid)] : ['netns', right.netns]
  await runIp(left, ['link', 'add', 'name', left.name, 'type', 'veth', 'peer', 'name', right.name, ...rightNetns])
  await Promise.all([setLinkUp(left), setLinkUp(right)])
}

/** Makes a link that leads nowhere, to carry addresses. Throws ExecError also where the kernel lacks the module. */
export async function createDummyLink(link: Link): Promise<void> {
  await runIp(link, ['link', 'add', 'name', link.name, 'type', 'dummy'])
  await setLinkUp(link)
}

/** Throws ExecError where there is no such link. The other end of a veth pair goes with it. */
export async function deleteLink(link: Link): Promise<void> {
  await runIp(link, ['link', 'delete', 'dev', link.name])
}

export async function moveLink(link: Link, toNetns: string): Promise<Link> {
  checkNetnsName(toNetns)
  await runIp(link, ['link', 'set', 'dev', link.name, 'netns', toNetns])
  return { name: link.name, netns: toNetns }
}

export async function setLinkUp(link: Link): Promise<void> {
  await runIp(link, ['link', 'set', 'dev', link.name, 'up'])
}

/** Both are in the same namespace. */
export async function attachToBridge(link: Link, bridge: string): Promise<void> {
  checkLink({ name: bridge })
  await runIp(link, ['link', 'set', 'dev', link.name, 'master', bridge])
}

/** Lets a bridge send a packet back through the port it came from, as a pod that reaches itself through its Service needs. */
export async function allowHairpin(port: Link): Promise<void> {
  await runIp(port, ['link', 'set', 'dev', port.name, 'type', 'bridge_slave', 'hairpin', 'on'])
}

/** An IPv6 address is usable at once: duplicate address detection is off for it. */
export async function addAddress(link: Link, address: LinkAddress): Promise<void> {
  const flags = ipFamily(address.ip) === 'IPv6' ? ['nodad'] : []
  await runIp(link, ['address', 'add', `${address.ip}/${address.prefixLength}`, 'dev', link.name, ...flags])
}

/** One address that only this machine itself answers for: never a source for what leaves it. */
export async function addHostAddress(link: Link, ip: Ip): Promise<void> {
  const flags = ipFamily(ip) === 'IPv6' ? ['nodad'] : ['scope', 'host']
  await runIp(link, ['address', 'add', hostCidr(ip), 'dev', link.name, ...flags])
}

/** Throws ExecError where the link does not have it. */
export async function removeHostAddress(link: Link, ip: Ip): Promise<void> {
  await runIp(link, ['address', 'delete', hostCidr(ip), 'dev', link.name])
}

export async function addRoute(route: Route): Promise<void> {
  if (route.netns !== undefined) checkNetnsName(route.netns)
  const family = ipFamily(route.via) === 'IPv6' ? '-6' : '-4'
  await runProgram('ip', [family, ...inNetns(route), 'route', 'add', route.destination, 'via', route.via], ipOptions)
}

const ipOptions = { timeoutMs: 10_000 }

async function runIp(link: Link, args: readonly string[]): Promise<void> {
  checkLink(link)
  await runProgram('ip', [...inNetns(link), ...args], ipOptions)
}

function inNetns({ netns }: { readonly netns?: string }): string[] {
  return netns === undefined ? [] : ['-n', netns]
}

/** IFNAMSIZ is 16 with the closing zero (linux/if.h); the characters are those that need no quoting anywhere. */
function checkLink({ name, netns }: Link): void {
  if (netns !== undefined) checkNetnsName(netns)
  if (/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$/.test(name)) return
  throw new NetworkNameError('invalid-name', `interface name ${JSON.stringify(name)} is not usable`, {
    remedy: 'use 1 to 15 letters, digits, "_", "." and "-", not starting with "." or "-"',
  })
}
