import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isNamespace, type Run } from '../../host/index.ts'
import { parseIp } from '../../model/ip.ts'
import { parseSavedChains } from './nat-chains.ts'
import type { FoundAddress, FoundChain, FoundOnNode, Leftovers } from './plan.ts'
import type { ResultCache } from './result-cache.ts'

export interface LeftoverPlaces {
  readonly cache: ResultCache
  /** Folders of host-local with one folder per network: /var/lib/cni/networks. */
  readonly ipamDirs: readonly string[]
  /** Starts iptables in the namespace of the plugins. */
  readonly run: Run
}

const programs = ['iptables', 'ip6tables'] as const
const commandTimeoutMs = 30_000

/** Collects attachments, addresses and chains of this node. Changes nothing. */
export async function findOnNode({ cache, ipamDirs, run }: LeftoverPlaces): Promise<FoundOnNode> {
  const entries = await cache.list()
  const attachments = entries.flatMap(({ attachment }) => (attachment ? [attachment] : []))
  return {
    attachments: await Promise.all(
      attachments.map(async (one) => ({ ...one, hasNetns: await isNamespace(one.netnsPath) })),
    ),
    unreadableFiles: entries.filter(({ attachment }) => attachment === undefined).map(({ file }) => file),
    addresses: (await Promise.all(ipamDirs.map(findAddresses))).flat(),
    chains: (await Promise.all(programs.map((program) => findChains(program, run)))).flat(),
  }
}

/** Releases what no DEL can reach, unless another container owns it by now. Resolves with one line for each release. */
export async function releaseLeftovers(
  { unreadableFiles, addresses, chains }: Omit<Leftovers, 'attachments'>,
  { run }: Pick<LeftoverPlaces, 'run'>,
): Promise<readonly string[]> {
  const lines: string[] = []
  for (const file of unreadableFiles) {
    await rm(file, { force: true })
    lines.push(`removed ${file}`)
  }
  for (const address of addresses) {
    if ((await readHolder(address.file)) !== address.containerId) continue
    await rm(address.file, { force: true })
    lines.push(`released ${address.ip} of the network ${address.network}, held for ${address.containerId}`)
  }
  for (const program of programs) {
    const own = chains.filter((chain) => chain.program === program)
    if (own.length === 0) continue
    await run(`${program}-restore`, ['--noflush', '-w', '10'], {
      input: renderRemoval(own),
      timeoutMs: commandTimeoutMs,
    })
    lines.push(...own.map(({ chain, containerId }) => `removed the chain ${chain} of ${containerId}`))
  }
  return lines
}

/** Removes all in one write: jumps first, because a chain with references cannot be deleted. */
function renderRemoval(chains: readonly FoundChain[]): string {
  const jumps = chains.flatMap((one) => one.jumps.map((jump) => jump.replace(/^-A /, '-D ')))
  const flushes = chains.map(({ chain }) => `-F ${chain}`)
  const deletions = chains.map(({ chain }) => `-X ${chain}`)
  return `${['*nat', ...jumps, ...flushes, ...deletions, 'COMMIT'].join('\n')}\n`
}

async function findChains(program: FoundChain['program'], run: Run): Promise<readonly FoundChain[]> {
  try {
    const { stdout } = await run(`${program}-save`, ['-t', 'nat'], { timeoutMs: commandTimeoutMs })
    return parseSavedChains(stdout).map((chain) => ({ program, ...chain }))
  } catch {
    // Without the program, or without the family in the kernel, no plugin can have made a chain there.
    return []
  }
}

async function findAddresses(folder: string): Promise<FoundAddress[]> {
  const networks = await readdir(folder).catch(() => [])
  const found = networks.map(async (network) => {
    const files = (await readdir(join(folder, network)).catch(() => [])).filter((name) => parseIp(ipOf(name)))
    return Promise.all(files.map((name) => readAddress(join(folder, network, name), network, ipOf(name))))
  })
  return (await Promise.all(found)).flat(2)
}

async function readAddress(file: string, network: string, ip: string): Promise<FoundAddress[]> {
  const containerId = await readHolder(file)
  const found = await stat(file).catch(() => undefined)
  if (containerId === undefined || found === undefined) return []
  return [{ file, network, ip, containerId, ageMs: Date.now() - found.mtimeMs }]
}

/** Reads a reservation: its first line is the container, the second the interface. */
async function readHolder(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  return text?.split(/\r?\n/, 1)[0]?.trim()
}

/** Parses the file name of a reservation: the address, on Windows with `_` for `:`. */
function ipOf(name: string): string {
  return name.replaceAll('_', ':')
}
