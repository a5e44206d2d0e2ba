import { z } from 'zod'
import { type Cidr, hostCidr, type Ip, ipFamily } from '../model/ip.ts'
import { checkNetnsName, NetworkNameError } from './netns-name.ts'
import { type Run, runProgram } from './programs/index.ts'

/** A network interface; without `netns` it belongs to this process' namespace. */
export interface Link {
  readonly name: string
  readonly netns?: string
}

/** An address of an interface with its prefix length. */
export interface LinkAddress {
  readonly ip: Ip
  readonly prefixLength: number
}

export interface Route {
  readonly destination: Cidr | 'default'
  readonly via: Ip
  readonly netns?: string
}

/** Creates a bridge and brings it up. All functions here that create a link throw ExecError if the name is taken. */
export async function createBridge(bridge: Link): Promise<void> {
  await runIp(bridge, ['link', 'add', 'name', bridge.name, 'type', 'bridge'])
  await setLinkUp(bridge)
}

/** Creates a veth pair with each end in its namespace and brings both up. */
export async function createVethPair(left: Link, right: Link): Promise<void> {
  checkLink(right)
  const rightNetns = right.netns === undefined ? ['netns', String(process.pid)] : ['netns', right.netns]
  await runIp(left, ['link', 'add', 'name', left.name, 'type', 'veth', 'peer', 'name', right.name, ...rightNetns])
  await Promise.all([setLinkUp(left), setLinkUp(right)])
}

/** Creates a dummy link, to carry addresses. Throws ExecError also if the kernel lacks the module. */
export async function createDummyLink(link: Link, run?: Run): Promise<void> {
  await runIp(link, ['link', 'add', 'name', link.name, 'type', 'dummy'], run)
  await setLinkUp(link)
}

/** Deletes a link; the other end of a veth pair disappears with it. Throws ExecError if the link does not exist. */
export async function deleteLink(link: Link, run?: Run): Promise<void> {
  await runIp(link, ['link', 'delete', 'dev', link.name], run)
}

const shownLinks = z.array(
  z.object({
    ifname: z.string(),
    master: z.string().optional(),
    linkinfo: z.object({ info_kind: z.string().optional() }).optional(),
  }),
)

/**
 * Lists the links that are on a bridge of this namespace; undefined if no bridge has the name. It asks the kernel, because /sys may be that
 * of another namespace.
 */
export async function findBridgePorts(bridge: string, run: Run = runProgram): Promise<readonly string[] | undefined> {
  const { stdout } = await run('ip', ['-json', '-details', 'link', 'show'], ipOptions)
  const links = shownLinks.parse(JSON.parse(stdout))
  if (!links.some(({ ifname, linkinfo }) => ifname === bridge && linkinfo?.info_kind === 'bridge')) return undefined
  return links.filter(({ master }) => master === bridge).map(({ ifname }) => ifname)
}

export async function moveLink(link: Link, toNetns: string): Promise<Link> {
  checkNetnsName(toNetns)
  await runIp(link, ['link', 'set', 'dev', link.name, 'netns', toNetns])
  return { name: link.name, netns: toNetns }
}

export async function setLinkUp(link: Link, run?: Run): Promise<void> {
  await runIp(link, ['link', 'set', 'dev', link.name, 'up'], run)
}

/** Attaches a link to a bridge of the same namespace. */
export async function attachToBridge(link: Link, bridge: string): Promise<void> {
  checkLink({ name: bridge })
  await runIp(link, ['link', 'set', 'dev', link.name, 'master', bridge])
}

/** Turns on hairpin: a bridge may send a packet back through its ingress port, which a pod needs that reaches itself through its Service. */
export async function allowHairpin(port: Link): Promise<void> {
  await runIp(port, ['link', 'set', 'dev', port.name, 'type', 'bridge_slave', 'hairpin', 'on'])
}

/** Adds an address. An IPv6 address is usable at once, because duplicate address detection is off for it. */
export async function addAddress(link: Link, address: LinkAddress): Promise<void> {
  const flags = ipFamily(address.ip) === 'IPv6' ? ['nodad'] : []
  await runIp(link, ['address', 'add', `${address.ip}/${address.prefixLength}`, 'dev', link.name, ...flags])
}

/** Adds an address of host scope, which is never the source of packets that leave the machine. */
export async function addHostAddress(link: Link, ip: Ip, run?: Run): Promise<void> {
  const flags = ipFamily(ip) === 'IPv6' ? ['nodad'] : ['scope', 'host']
  await runIp(link, ['address', 'add', hostCidr(ip), 'dev', link.name, ...flags], run)
}

/** Removes an address. Throws ExecError if the link does not have it. */
export async function removeHostAddress(link: Link, ip: Ip, run?: Run): Promise<void> {
  await runIp(link, ['address', 'delete', hostCidr(ip), 'dev', link.name], run)
}

/** Makes `source` the source of what programs of this node send to an address of it. */
export async function setLocalSource(link: Link, ip: Ip, source: Ip, run?: Run): Promise<void> {
  await runIp(link, ['route', 'replace', 'local', ip, 'dev', link.name, 'table', 'local', 'src', source], run)
}

/** Removes what `setLocalSource` made. Throws ExecError if there is no such route. */
export async function removeLocalSource(link: Link, ip: Ip, run?: Run): Promise<void> {
  await runIp(link, ['route', 'delete', 'local', ip, 'dev', link.name, 'table', 'local'], run)
}

export async function addRoute(route: Route): Promise<void> {
  if (route.netns !== undefined) checkNetnsName(route.netns)
  const family = ipFamily(route.via) === 'IPv6' ? '-6' : '-4'
  await runProgram('ip', [family, ...inNetns(route), 'route', 'add', route.destination, 'via', route.via], ipOptions)
}

const ipOptions = { timeoutMs: 10_000 }

async function runIp(link: Link, args: readonly string[], run: Run = runProgram): Promise<void> {
  checkLink(link)
  await run('ip', [...inNetns(link), ...args], ipOptions)
}

function inNetns({ netns }: { readonly netns?: string }): string[] {
  return netns === undefined ? [] : ['-n', netns]
}

/** Matches a name of an interface: IFNAMSIZ is 16 with the closing zero (linux/if.h), and none of the characters needs quoting. */
function checkLink({ name, netns }: Link): void {
  if (netns !== undefined) checkNetnsName(netns)
  if (/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$/.test(name)) return
  throw new NetworkNameError('invalid-name', `interface name ${JSON.stringify(name)} is not usable`, {
    remedy: 'use 1 to 15 letters, digits, "_", "." and "-", not starting with "." or "-"',
  })
}
