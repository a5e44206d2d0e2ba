import { z } from 'zod'
import { ExecError, type Run, runProgram } from '../../host/index.ts'
import type { Json } from '../../model/api-object.ts'
import { type Cidr, hostCidr, type Ip, type IpFamily, ipFamily } from '../../model/ip.ts'
import { compareRoutes, type PresentRoute, parseDestination, routeSchema } from './compare-routes.ts'
import { masqueradeTableName, type PodRoute, type RoutePlan, type VxlanDevice, vxlanName } from './plan.ts'

/** Marks our routes (rtnetlink(7), rtm_protocol): a number that no known program uses. */
const protocol = '143'
const timeoutMs = 10_000

const families: readonly IpFamily[] = ['IPv4', 'IPv6']

const neighbourSchema = z.array(z.object({ dst: z.string(), lladdr: z.string().optional() }))
const deviceSchema = z.array(
  z.object({
    address: z.string().optional(),
    linkinfo: z
      .object({
        info_data: z
          .object({ id: z.number().optional(), local: z.string().optional(), port: z.number().optional() })
          .optional(),
      })
      .optional(),
  }),
)

/**
 * Brings the routes and the device of this program to the plan. A route of any other protocol is neither changed nor removed:
 * `ip route add` refuses a network that has one. Rejects with ExecError.
 */
export async function applyRoutes(
  plan: RoutePlan,
  run: Run = runProgram,
): Promise<{ readonly added: number; readonly removed: number }> {
  await (plan.vxlan === undefined ? removeDevice(run) : applyDevice(plan.vxlan, run))
  let [added, removed] = [0, 0]
  for (const family of families) {
    const wanted = plan.routes.filter(({ destination }) => ipFamily(destination) === family)
    const present = await listRoutes(family, ['proto', protocol], run)
    const { missing, stale } = compareRoutes(present, wanted)
    const lines = [
      ...stale.map((route) => `route del ${describePresent(route)} proto ${protocol}`),
      ...missing.map((route) => `route add ${describeRoute(route)} proto ${protocol}`),
    ]
    await runBatch(family, lines, run)
    added += missing.length
    removed += stale.length
  }
  return { added, removed }
}

/** The networks inside these to which the kernel has routes of others: links, LANs, another CNI. Rejects with ExecError. */
export async function listForeignRoutes(networks: readonly Cidr[], run: Run = runProgram): Promise<readonly Cidr[]> {
  const found = await Promise.all(networks.map((network) => listRoutes(ipFamily(network), ['root', network], run)))
  return found
    .flat()
    .filter((route) => route.protocol !== protocol)
    .map(({ dst }) => parseDestination(dst))
    .filter((cidr) => cidr !== undefined)
}

/** Takes everything of ours away: routes, device, masquerading. Resolves with what was there. */
export async function cleanupRoutes(run: Run = runProgram): Promise<readonly string[]> {
  const hadDevice = await removeDevice(run)
  const { removed } = await applyRoutes({ routes: [], vxlan: undefined }, run)
  const hadTable = await succeeds(run, 'nft', ['delete', 'table', 'inet', masqueradeTableName])
  return [
    ...(hadDevice ? ['removed the VXLAN device and its routes'] : []),
    ...(removed === 0 ? [] : [`removed ${removed} routes to the pods of other nodes`]),
    ...(hadTable ? ['removed the masquerading of pods'] : []),
  ]
}

/** Writes the table unless the same rules stand there: a restart changes nothing. */
export async function applyMasquerade(table: string, run: Run = runProgram): Promise<void> {
  const present = await run('nft', ['list', 'table', 'inet', masqueradeTableName], { timeoutMs }).catch(() => undefined)
  if (present !== undefined && rulesOf(present.stdout) === rulesOf(table)) return
  await run('nft', ['-f', '-'], { input: table, timeoutMs })
}

function rulesOf(table: string): string {
  const lines = table.split('\n').map((line) => line.trim())
  return lines.filter((line) => line.endsWith(' masquerade')).join('\n')
}

async function applyDevice(device: VxlanDevice, run: Run): Promise<void> {
  const { name, id, port, local, mac } = device
  if (!(await isDevice(device, run))) {
    await removeDevice(run)
    const kind = ['vxlan', 'id', String(id), 'local', local, 'dstport', String(port), 'nolearning']
    await run('ip', ['link', 'add', name, 'address', mac, 'type', ...kind], { timeoutMs })
    await run('ip', ['link', 'set', name, 'up'], { timeoutMs })
  }
  const addresses = device.addresses.map((ip) => `address replace ${hostCidr(ip)} dev ${name}`)
  await runBatch(undefined, [...addresses, ...(await planNeighbours(device, run))], run)
  await replaceForwarding(device, run)
}

/** Only what differs: packets to the other peers find theirs all the time. */
async function planNeighbours({ name, peers }: VxlanDevice, run: Run): Promise<readonly string[]> {
  const json = await readJson(['neighbour', 'show', 'dev', name, 'nud', 'permanent'], run)
  const present = new Map(neighbourSchema.parse(json).map(({ dst, lladdr }) => [dst, lladdr]))
  const wanted = new Set<string>(peers.map(({ inner }) => inner))
  return [
    ...[...present.keys()].filter((ip) => !wanted.has(ip)).map((ip) => `neighbour del ${ip} dev ${name}`),
    ...peers
      .filter(({ inner, mac }) => present.get(inner) !== mac)
      .map(({ inner, mac }) => `neighbour replace ${inner} lladdr ${mac} dev ${name} nud permanent`),
  ]
}

/** Entries of peers that are gone lead nowhere and are asked by no neighbour; they go all the same. */
async function replaceForwarding({ name, peers }: VxlanDevice, run: Run): Promise<void> {
  const { stdout } = await run('bridge', ['fdb', 'show', 'dev', name], { timeoutMs })
  const entries = stdout.split('\n').flatMap((line) => /^(\S+) dst (\S+) /.exec(line)?.slice(1, 3).join(' ') ?? [])
  const present = new Set(entries)
  const wanted = new Set(peers.map(({ mac, outer }) => `${mac} ${outer as Ip}`))
  const change = (verb: 'delete' | 'replace', entry: string) => {
    const [mac = '', outer = ''] = entry.split(' ')
    return `fdb ${verb} ${mac} dev ${name} dst ${outer}`
  }
  const lines = [
    ...Array.from(present.difference(wanted), (entry) => change('delete', entry)),
    ...Array.from(wanted.difference(present), (entry) => change('replace', entry)),
  ]
  if (lines.length === 0) return
  await run('bridge', ['-force', '-batch', '-'], { input: `${lines.join('\n')}\n`, timeoutMs })
}

async function isDevice({ name, id, local, mac, port }: VxlanDevice, run: Run): Promise<boolean> {
  try {
    const [found] = deviceSchema.parse(await readJson(['-d', 'link', 'show', name], run))
    const data = found?.linkinfo?.info_data
    return found?.address === mac && data?.id === id && data.local === local && data.port === port
  } catch (error) {
    if (error instanceof ExecError) return false
    throw error
  }
}

/** True where there was one; its routes go with it. */
function removeDevice(run: Run): Promise<boolean> {
  return succeeds(run, 'ip', ['link', 'delete', vxlanName])
}

/** Parses routes of the main table. */
async function listRoutes(family: IpFamily, selector: readonly string[], run: Run): Promise<readonly PresentRoute[]> {
  return routeSchema.parse(await readJson(['-N', family === 'IPv4' ? '-4' : '-6', 'route', 'show', ...selector], run))
}

async function readJson(args: readonly string[], run: Run): Promise<Json> {
  const { stdout } = await run('ip', ['-j', ...args], { timeoutMs })
  return JSON.parse(stdout.trim() === '' ? '[]' : stdout)
}

async function runBatch(family: IpFamily | undefined, lines: readonly string[], run: Run): Promise<void> {
  if (lines.length === 0) return
  const which = family === undefined ? [] : [family === 'IPv4' ? '-4' : '-6']
  // One route that cannot be does not keep the others from being made; the exit code tells all the same.
  await run('ip', [...which, '-force', '-batch', '-'], { input: `${lines.join('\n')}\n`, timeoutMs })
}

function describePresent({ dst, gateway, dev }: PresentRoute): string {
  return [dst, ...(gateway === undefined ? [] : ['via', gateway]), ...(dev === undefined ? [] : ['dev', dev])].join(' ')
}

function describeRoute({ destination, via, device }: PodRoute): string {
  return device === undefined ? `${destination} via ${via}` : `${destination} via ${via} dev ${device} onlink`
}

async function succeeds(run: Run, file: string, args: readonly string[]): Promise<boolean> {
  try {
    await run(file, args, { timeoutMs })
    return true
  } catch (error) {
    if (error instanceof ExecError) return false
    throw error
  }
}
