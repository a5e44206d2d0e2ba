// Runs in namespaces of its own: connections of each protocol, deleted one by one over the socket, as `conntrack` then shows them, and barred, as ipset does.
import { NetfilterSocket, type Run, runProgram } from '../../../../src/host/index.ts'
import type { IpFamily } from '../../../../src/model/ip.ts'
import { fixedSets } from '../../../../src/netfilter/policy/names.ts'
import { BarredFlows } from '../../../../src/node/policy/barred-flows.ts'
import { TrackedFlows } from '../../../../src/node/policy/tracked-flows.ts'
import { ipOf } from '../../../helpers/addresses.ts'

const socket = NetfilterSocket.open()
if (socket === undefined) throw new Error('this machine gives no socket')
let programs = 0
const run: Run = (file, args, options) => {
  programs += 1
  return runProgram(file, args, options)
}

const conntrack = (...args: readonly string[]) => runProgram('conntrack', args, { timeoutMs: 5000 })

interface Ends {
  readonly client: string
  readonly service: string
  readonly server: string
  /** Where the server answers to: the client, unless its address is translated too. */
  readonly answered?: string
}

const ends = {
  IPv4: { client: '10.0.0.1', service: '10.96.0.1', server: '10.0.1.1' },
  IPv6: { client: 'fd00::1', service: 'fd00:96::1', server: 'fd00:1::1' },
} as const

/** A connection to a service that was translated to a server. */
async function add(
  { client, service, server, answered = client }: Ends,
  ...protocol: readonly string[]
): Promise<void> {
  const tuples = ['-s', client, '-d', service, '-r', server, '-q', answered]
  await conntrack('-I', ...tuples, '-t', '600', '-p', ...protocol)
}

function ports(source: number): readonly string[] {
  return ['--sport', `${source}`, '--dport', '80', '--reply-port-src', '8080', '--reply-port-dst', `${source}`]
}

/** GRE has keys where others have ports. */
function keys(source: number): readonly string[] {
  return ['--orig-key-src', `${source}`, '--orig-key-dst', '1', '--reply-key-src', '1', '--reply-key-dst', `${source}`]
}

async function addAll(family: IpFamily): Promise<void> {
  const all = ends[family]
  for (const source of [1001, 1002]) {
    await add(all, 'tcp', ...ports(source), '--state', 'ESTABLISHED')
    await add(all, 'udp', ...ports(source))
    await add(all, 'sctp', ...ports(source), '--state', 'ESTABLISHED', '--orig-vtag', '1', '--reply-vtag', '2')
    await add(all, 'udplite', ...ports(source))
    await add(all, 'gre', ...keys(source))
    const echo = family === 'IPv4' ? ['icmp', '--icmp-type', '8'] : ['icmpv6', '--icmpv6-type', '128']
    await add(all, ...echo, `--${echo[0]}-code`, '0', `--${echo[0]}-id`, String(source))
  }
  await add(all, '253')
}

async function show(family: IpFamily): Promise<readonly string[]> {
  const { stdout } = await conntrack('-L', '-f', family.toLowerCase())
  return stdout
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
}

/** Deletes one after the other; returns how many were left each time. */
async function removeEach(family: IpFamily) {
  const bySocket = new TrackedFlows({ family, run, socket })
  const kinds = async (flows: TrackedFlows) =>
    [
      ...new Set(
        (await flows.list()).map(
          (flow) => `${flow.protocol} ${flow.source} ${flow.replySource} ${flow.replySourcePort}`,
        ),
      ),
    ].sort()
  await addAll(family)
  const byProgram = await kinds(new TrackedFlows({ family, run: runProgram }))
  const listed = { bySocket: await kinds(bySocket), byProgram }
  const lost: (readonly string[])[] = []
  let before = await show(family)
  for (const flow of await bySocket.list()) {
    await bySocket.remove([flow])
    const after = await show(family)
    lost.push(before.filter((line) => !after.some((other) => nameOf(other) === nameOf(line))).map(nameOf))
    before = after
  }
  return { listed, lost, left: before.length }
}

/** A line without what time changes: its protocol and tuples. */
function nameOf(line: string): string {
  return [
    line.split(' ')[0],
    ...Array.from(line.matchAll(/\b(?:src|dst|sport|dport|type|id|srckey)=\S+/g), String),
  ].join(' ')
}

/** The connection goes; the client opens the same one to another server, or another client the same one as the server sees it. */
async function removeReplaced(family: IpFamily): Promise<readonly string[]> {
  const flows = new TrackedFlows({ family, run, socket })
  await add(ends[family], 'udp', ...ports(1001))
  const stale = await flows.list()
  await flows.remove(stale)
  await flows.remove(stale)
  await add({ ...ends[family], server: ends[family].client }, 'udp', ...ports(1001))
  await flows.remove(stale)
  const left = (await show(family)).map(nameOf)
  await conntrack('-F')
  const { client, service } = ends[family]
  await add({ ...ends[family], client: service, answered: client }, 'udp', ...ports(1001))
  await flows.remove(stale)
  left.push(...(await show(family)).map(nameOf))
  await conntrack('-F')
  return left
}

async function removeOf(family: IpFamily): Promise<readonly string[]> {
  const { client, service, server } = ends[family]
  const left: string[] = []
  for (const address of [client, service, server]) {
    await add(ends[family], 'udp', ...ports(1001))
    await add({ client: `${client}1`, service: `${service}1`, server: `${server}1` }, 'udp', ...ports(1002))
    await new TrackedFlows({ family, run, socket }).removeOf([ipOf(address)])
    left.push(...(await show(family)).map(nameOf))
    await conntrack('-F')
  }
  return left
}

/** Bars two of three flows after each other, and lets one of them go; returns what ipset shows each time. */
async function bar(family: IpFamily): Promise<readonly string[]> {
  const set = fixedSets(family).cut
  const options = ['family', family === 'IPv4' ? 'inet' : 'inet6', 'timeout', '60']
  await runProgram('ipset', ['create', set, 'hash:ip,port,ip', ...options], { timeoutMs: 5000 })
  const barred = new BarredFlows({ family, run, socket, membersOf: async () => [] })
  const { client, server } = ends[family]
  const flow = (protocol: number, replySourcePort: number) => ({
    protocol,
    source: ipOf(client),
    replySource: ipOf(server),
    replySourcePort,
  })
  await barred.bar([flow(17, 53), flow(132, 80), flow(253, 0)])
  const shown = [await members(set)]
  await barred.release(
    () =>
      ({ protocol }) =>
        protocol !== 132,
  )
  return [...shown, await members(set)]
}

async function members(set: string): Promise<string> {
  const { stdout } = await runProgram('ipset', ['save', set], { timeoutMs: 5000 })
  return Array.from(stdout.matchAll(/^add \S+ (\S+) timeout \d+$/gm), ([, element]) => element)
    .sort()
    .join(' ')
}

const families = []
for (const family of ['IPv4', 'IPv6'] as const) {
  programs = 0
  const each = await removeEach(family)
  const replaced = await removeReplaced(family)
  const ofAddresses = await removeOf(family)
  const barred = await bar(family)
  families.push({ ...each, replaced, ofAddresses, barred, programs })
}

await addAll('IPv4')
const refusing = { list: socket.list.bind(socket), request: () => false }
const unconfirmed = new TrackedFlows({ family: 'IPv4', run, socket: refusing })
await unconfirmed.remove(await unconfirmed.list())
process.stdout.write(JSON.stringify({ families, leftByProgram: (await show('IPv4')).length }))
process.exit(0)
