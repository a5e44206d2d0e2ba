import { z } from 'zod'
import { ExecError, runProgram } from '../../host/index.ts'
import type { Json } from '../../model/api-object.ts'
import { type Ip, ipFamily } from '../../model/ip.ts'
import { masqueradeTableName, type PodRoute, type RoutePlan, type VxlanDevice, vxlanName } from './plan.ts'

/** Marks our routes (rtnetlink(7), rtm_protocol): a number that nobody is known to use. */
const protocol = '143'
const timeoutMs = 10_000

const routeSchema = z.array(z.object({ dst: z.string(), gateway: z.string().optional(), dev: z.string().optional() }))
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

/** Brings routes and device of this network namespace to the plan; nothing of anybody else is touched. Rejects with ExecError. */
export async function applyRoutes(plan: RoutePlan): Promise<{ readonly added: number; readonly removed: number }> {
  await (plan.vxlan === undefined ? removeDevice() : applyDevice(plan.vxlan))
  let [added, removed] = [0, 0]
  for (const family of ['IPv4', 'IPv6'] as const) {
    const wanted = plan.routes.filter(({ destination }) => ipFamily(destination) === family)
    const present = await listRoutes(family)
    const missing = wanted.filter((route) => !present.some((each) => isSame(each, route)))
    const stale = present.filter(({ dst }) => !wanted.some(({ destination }) => shortOf(destination) === dst))
    const lines = [
      ...stale.map(({ dst }) => `route del ${dst} proto ${protocol}`),
      ...missing.map((route) => `route replace ${describeRoute(route)} proto ${protocol}`),
    ]
    await runBatch(family, lines)
    added += missing.length
    removed += stale.length
  }
  return { added, removed }
}

/** Takes everything of ours away: routes, device, masquerading. Resolves with what was there. */
export async function cleanupRoutes(): Promise<readonly string[]> {
  const hadDevice = await removeDevice()
  const { removed } = await applyRoutes({ routes: [], vxlan: undefined })
  const hadTable = await succeeds('nft', ['delete', 'table', 'inet', masqueradeTableName])
  return [
    ...(hadDevice ? ['removed the VXLAN device and its routes'] : []),
    ...(removed === 0 ? [] : [`removed ${removed} routes to the pods of other nodes`]),
    ...(hadTable ? ['removed the masquerading of pods'] : []),
  ]
}

/** Writes the table unless the same rules stand there: a restart changes nothing. */
export async function applyMasquerade(table: string): Promise<void> {
  const present = await runProgram('nft', ['list', 'table', 'inet', masqueradeTableName], { timeoutMs }).catch(
    () => undefined,
  )
  if (present !== undefined && rulesOf(present.stdout) === rulesOf(table)) return
  await runProgram('nft', ['-f', '-'], { input: table, timeoutMs })
}

function rulesOf(table: string): string {
  const lines = table.split('\n').map((line) => line.trim())
  return lines.filter((line) => line.endsWith(' masquerade')).join('\n')
}

async function applyDevice(device: VxlanDevice): Promise<void> {
  const { name, id, port, local, mac } = device
  if (!(await isDevice(device))) {
    await removeDevice()
    const kind = ['vxlan', 'id', String(id), 'local', local, 'dstport', String(port), 'nolearning']
    await runProgram('ip', ['link', 'add', name, 'address', mac, 'type', ...kind], { timeoutMs })
    await runProgram('ip', ['link', 'set', name, 'up'], { timeoutMs })
  }
  await runBatch(undefined, [
    ...device.addresses.map((ip) => `address replace ${ip}/${ipFamily(ip) === 'IPv4' ? 32 : 128} dev ${name}`),
    `neighbour flush dev ${name} nud permanent`,
    ...device.peers.map((peer) => `neighbour replace ${peer.inner} lladdr ${peer.mac} dev ${name} nud permanent`),
  ])
  await replaceForwarding(device)
}

/** Entries of peers that are gone lead nowhere and are asked by no neighbour; they go all the same. */
async function replaceForwarding({ name, peers }: VxlanDevice): Promise<void> {
  const { stdout } = await runProgram('bridge', ['fdb', 'show', 'dev', name], { timeoutMs })
  const present = stdout.split('\n').flatMap((line) => /^(\S+) dst (\S+) /.exec(line)?.slice(1, 3).join(' ') ?? [])
  const wanted = new Set(peers.map(({ mac, outer }) => `${mac} ${outer as Ip}`))
  for (const entry of present.filter((each) => !wanted.has(each))) {
    const [mac = '', outer = ''] = entry.split(' ')
    await runProgram('bridge', ['fdb', 'delete', mac, 'dev', name, 'dst', outer], { timeoutMs })
  }
  for (const entry of [...wanted].filter((each) => !present.includes(each))) {
    const [mac = '', outer = ''] = entry.split(' ')
    await runProgram('bridge', ['fdb', 'replace', mac, 'dev', name, 'dst', outer], { timeoutMs })
  }
}

async function isDevice({ name, id, local, mac, port }: VxlanDevice): Promise<boolean> {
  try {
    const [found] = deviceSchema.parse(await readJson(['-d', 'link', 'show', name]))
    const data = found?.linkinfo?.info_data
    return found?.address === mac && data?.id === id && data.local === local && data.port === port
  } catch (error) {
    if (error instanceof ExecError) return false
    throw error
  }
}

/** True where there was one; its routes go with it. */
function removeDevice(): Promise<boolean> {
  return succeeds('ip', ['link', 'delete', vxlanName])
}

async function listRoutes(family: 'IPv4' | 'IPv6'): Promise<z.output<typeof routeSchema>> {
  return routeSchema.parse(await readJson([family === 'IPv4' ? '-4' : '-6', 'route', 'show', 'proto', protocol]))
}

async function readJson(args: readonly string[]): Promise<Json> {
  const { stdout } = await runProgram('ip', ['-j', ...args], { timeoutMs })
  return JSON.parse(stdout.trim() === '' ? '[]' : stdout)
}

async function runBatch(family: 'IPv4' | 'IPv6' | undefined, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return
  const which = family === undefined ? [] : [family === 'IPv4' ? '-4' : '-6']
  // One route that cannot be does not keep the others from being made; the exit code tells all the same.
  await runProgram('ip', [...which, '-force', '-batch', '-'], { input: `${lines.join('\n')}\n`, timeoutMs })
}

function isSame(present: z.output<typeof routeSchema>[number], { destination, via, device }: PodRoute): boolean {
  const isThere = present.dst === shortOf(destination) && present.gateway === via
  return isThere && (device === undefined || present.dev === device)
}

/** As `ip` prints a network of one address. */
function shortOf(destination: string): string {
  return destination.replace(/^([\d.]+)\/32$|^([\da-f:]+)\/128$/, '$1$2')
}

function describeRoute({ destination, via, device }: PodRoute): string {
  return device === undefined ? `${destination} via ${via}` : `${destination} via ${via} dev ${device} onlink`
}

async function succeeds(file: string, args: readonly string[]): Promise<boolean> {
  try {
    await runProgram(file, args, { timeoutMs })
    return true
  } catch (error) {
    if (error instanceof ExecError) return false
    throw error
  }
}
