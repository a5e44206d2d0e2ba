import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Ip, type IpFamily, ipFamily, parseIp } from '../model/ip.ts'
import { protocolsWithPorts } from '../model/protocol-numbers.ts'
import { type Run, runProgram } from './programs/index.ts'

/** A conntrack entry at the time of the listing. */
export interface Flow<Protocol extends FlowProtocol = FlowProtocol> {
  readonly protocol: Protocol
  /** The client, before any translation. */
  readonly source: Ip
  readonly sourcePort: number
  /** Destination of the client's packets. */
  readonly destination: Ip
  readonly destinationPort: number
  /** Source of the reply; differs from `destination` if DNAT applies. */
  readonly replySource: Ip
  readonly replySourcePort: number
}

/** The entries between one client and one port of one server. */
export interface FlowEnds {
  /** The number that IANA has given it: 6 TCP, 17 UDP. */
  readonly protocol: number
  /** The client, before any translation. */
  readonly source: Ip
  /** The end that answers: the destination after all translation. */
  readonly replySource: Ip
  /** The port that answers; 0 for protocols without ports. */
  readonly replySourcePort: number
}

type FlowProtocol = 'udp' | 'tcp'

const timeoutMs = 60_000

/** Lists the conntrack entries of one protocol and family. Throws ExecError. */
export async function listFlows<Protocol extends FlowProtocol>(
  family: IpFamily,
  protocol: Protocol,
  run: Run = runProgram,
): Promise<readonly Flow<Protocol>[]> {
  const args = ['-L', '-f', familyName(family), '-p', protocol]
  const { stdout } = await run('conntrack', args, { timeoutMs })
  return stdout.split('\n').flatMap((line) => parseFlow(line, protocol) ?? [])
}

/**
 * Deletes these entries and others with the same destination and endpoint, for all clients; missing entries are no error. Each command lists the
 * whole table and waits for the kernel (7 ms), so one command serves all clients of a destination and an endpoint: 10,000 commands took a minute. Throws ExecError.
 */
export async function deleteFlows(flows: readonly Flow[], run: Run = runProgram): Promise<void> {
  await runDeletions(flows.map(renderDeletion), run)
}

/**
 * Lists the ends of all conntrack entries of a family, or of those that these addresses opened; no two are equal. Entries of protocols
 * without ports are among them. Throws ExecError.
 */
export async function listFlowEnds(
  family: IpFamily,
  { from, run = runProgram }: { readonly from?: readonly Ip[] | undefined; readonly run?: Run } = {},
): Promise<readonly FlowEnds[]> {
  const found = new Map<string, FlowEnds>()
  for (const filter of from === undefined ? [[]] : from.map((address) => ['-s', address])) {
    const { stdout } = await run('conntrack', ['-L', '-f', familyName(family), ...filter], { timeoutMs })
    for (const line of stdout.split('\n')) {
      const ends = parseEnds(line)
      if (ends !== undefined) found.set(renderDeletionBetween(ends), ends)
    }
  }
  return [...found.values()]
}

/** Deletes all entries between these ends, whatever port the client sends from; missing entries are no error. Throws ExecError. */
export async function deleteFlowsBetween(ends: readonly FlowEnds[], run: Run = runProgram): Promise<void> {
  await runDeletions(ends.map(renderDeletionBetween), run)
}

/** Deletes every entry in which one of the addresses sends or answers; missing entries are no error. Throws ExecError. */
export async function deleteFlowsOf(addresses: readonly Ip[], run: Run = runProgram): Promise<void> {
  const deletions = addresses.flatMap((address) =>
    ['-s', '-d', '-r'].map((side) => `-D -f ${familyName(ipFamily(address))} ${side} ${address}\n`),
  )
  await runDeletions(deletions, run)
}

async function runDeletions(deletions: readonly string[], run: Run): Promise<void> {
  if (deletions.length === 0) return
  // conntrack opens its input by name, and a pipe of ours has no name.
  const folder = await mkdtemp(path.join(tmpdir(), 'platnet-conntrack-'))
  try {
    const file = path.join(folder, 'deletions')
    await writeFile(file, [...new Set(deletions)].join(''))
    await run('conntrack', ['-R', file], { timeoutMs })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Matches the tuple that occurs twice in a line: the original direction and the reply direction. */
const tuple = /src=(\S+) dst=(\S+) sport=(\d+) dport=(\d+)/g

function parseFlow<Protocol extends FlowProtocol>(line: string, protocol: Protocol): Flow<Protocol> | undefined {
  if (!line.startsWith(`${protocol} `)) return undefined
  const [original, reply] = line.matchAll(tuple)
  const [source, destination, replySource] = [original?.[1], original?.[2], reply?.[1]].map((text = '') =>
    parseIp(text),
  )
  if (source === undefined || destination === undefined || replySource === undefined) return undefined
  return {
    protocol,
    source,
    sourcePort: Number(original?.[3]),
    destination,
    destinationPort: Number(original?.[4]),
    replySource,
    replySourcePort: Number(reply?.[3]),
  }
}

/** Matches such a tuple with or without ports, such as that of an ICMP echo. */
const ends = /src=(\S+) dst=\S+(?: sport=(\d+))?/g

function parseEnds(line: string): FlowEnds | undefined {
  const protocol = Number(/^\w+ +(\d+) /.exec(line)?.[1] ?? Number.NaN)
  const [original, reply] = line.matchAll(ends)
  const [source, replySource] = [parseIp(original?.[1] ?? ''), parseIp(reply?.[1] ?? '')]
  if (Number.isNaN(protocol) || source === undefined || replySource === undefined) return undefined
  return { protocol, source, replySource, replySourcePort: protocolsWithPorts.has(protocol) ? Number(reply?.[2]) : 0 }
}

function renderDeletionBetween({ protocol, source, replySource, replySourcePort }: FlowEnds): string {
  const port = protocolsWithPorts.has(protocol) ? ` --reply-port-src ${replySourcePort}` : ''
  return `-D -f ${familyName(ipFamily(source))} -p ${protocol} -s ${source} -r ${replySource}${port}\n`
}

function renderDeletion(flow: Flow): string {
  const { protocol, destination, destinationPort, replySource, replySourcePort } = flow
  const asSent = `-d ${destination} --orig-port-dst ${destinationPort}`
  const asAnswered = `-r ${replySource} --reply-port-src ${replySourcePort}`
  return `-D -f ${familyName(ipFamily(destination))} -p ${protocol} ${asSent} ${asAnswered}\n`
}

function familyName(family: IpFamily): string {
  return family === 'IPv4' ? 'ipv4' : 'ipv6'
}
