import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Ip, type IpFamily, ipFamily, parseIp } from '../model/ip.ts'
import { type Run, runProgram } from './programs/index.ts'

/** A conntrack entry at the time of the listing. */
export interface Flow {
  readonly protocol: FlowProtocol
  /** Destination of the client's packets. */
  readonly source: Ip
  readonly sourcePort: number
  readonly destination: Ip
  readonly destinationPort: number
  /** Source of the reply; differs from `destination` if DNAT applies. */
  readonly replySource: Ip
  readonly replySourcePort: number
}

type FlowProtocol = 'udp' | 'tcp'

const timeoutMs = 60_000

/** Lists the conntrack entries of one protocol and family. Throws ExecError. */
export async function listFlows(
  family: IpFamily,
  protocol: FlowProtocol,
  run: Run = runProgram,
): Promise<readonly Flow[]> {
  const args = ['-L', '-f', familyName(family), '-p', protocol]
  const { stdout } = await run('conntrack', args, { timeoutMs })
  return stdout.split('\n').flatMap((line) => parseFlow(line, protocol) ?? [])
}

/**
 * Deletes these entries and others with the same destination and endpoint, for all clients; missing entries are no error. Each command lists the
 * whole table and waits for the kernel (7 ms), so one command serves all clients of a destination and an endpoint: 10,000 commands took a minute. Throws ExecError.
 */
export async function deleteFlows(flows: readonly Flow[], run: Run = runProgram): Promise<void> {
  if (flows.length === 0) return
  // conntrack opens its input by name, and a pipe of ours has no name.
  const folder = await mkdtemp(path.join(tmpdir(), 'platnet-conntrack-'))
  try {
    const file = path.join(folder, 'deletions')
    await writeFile(file, [...new Set(flows.map(renderDeletion))].join(''))
    await run('conntrack', ['-R', file], { timeoutMs })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Matches the tuple that occurs twice in a line: the original direction and the reply direction. */
const tuple = /src=(\S+) dst=(\S+) sport=(\d+) dport=(\d+)/g

function parseFlow(line: string, protocol: FlowProtocol): Flow | undefined {
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

function renderDeletion({ protocol, destination, destinationPort, replySource, replySourcePort }: Flow): string {
  const asSent = `-d ${destination} --orig-port-dst ${destinationPort}`
  const asAnswered = `-r ${replySource} --reply-port-src ${replySourcePort}`
  return `-D -f ${familyName(ipFamily(destination))} -p ${protocol} ${asSent} ${asAnswered}\n`
}

function familyName(family: IpFamily): string {
  return family === 'IPv4' ? 'ipv4' : 'ipv6'
}
