import DNS from 'dns2'
import { AskError, askDnsExplanation, type DnsExplanation } from '../app/commands/ask-agent.ts'
import { PlatnetError } from '../model/errors.ts'
import { type Ip, ipFamily, parseIp } from '../model/ip.ts'
import { renderRecord } from './dns-record.ts'
import { exitCodes } from './exit-code.ts'
import { type OutputFormat, outputFlag, printAnswer, withProgress } from './output.ts'
import { type AddCommand, addOptionFlags, loadCommandOptions } from './program.ts'

class DnsQueryError extends PlatnetError<'bad-question' | 'no-answer'> {}

interface QueryFlags {
  readonly dnsServer?: string
  readonly dnsPort: string
  readonly tcp?: boolean
  readonly output: OutputFormat
}

interface Question {
  readonly name: string
  readonly type: string
  readonly server: Ip
  readonly port: number
  readonly overTcp: boolean
}

/** `platnet dns query NAME [TYPE]` prints the answer of cluster DNS; exit code 1 if the name does not exist or the query fails. */
export const addDnsCommand: AddCommand = (program, context) => {
  const dns = program.command('dns').description("asks the cluster's DNS")
  const command = dns
    .command('query')
    .description('asks one question, shows the answer and where it came from')
    .argument('<name>', 'such as web.default.svc.cluster.local; nothing is added to it')
    .argument('[type]', 'A, AAAA, SRV, PTR, TXT, …', 'A')
    .option('--dns-server <ip>', 'the server to ask, instead of the address of --cluster-dns')
    .option('--dns-port <port>', 'the port there', '53')
    .option('--tcp', 'ask over TCP')
    .addOption(outputFlag())
  addOptionFlags(command, 'agent', ['config', 'controlSocket', 'clusterDns']).action(
    async (name: string, type: string, flags: QueryFlags) => {
      const { values } = await loadCommandOptions(command, context, 'agent')
      const question = readQuestion(name, type, flags, values.dns.clusterDns)
      const found = await withProgress(context, 'waiting for the answer', answer(question))
      const source = flags.dnsServer === undefined ? await explain(values.node.controlSocket, question) : {}
      printAnswer(context, flags.output, { ...found, ...source }, renderAnswer)
      if (found.rcode !== 'NOERROR') context.finish(exitCodes.failure)
    },
  )
}

function readQuestion(name: string, type: string, flags: QueryFlags, clusterDns: readonly Ip[]): Question {
  const server = flags.dnsServer === undefined ? clusterDns[0] : parseIp(flags.dnsServer)
  if (server === undefined) throw new DnsQueryError('bad-question', '--dns-server: expected an IP address')
  const port = /^\d{1,5}$/.test(flags.dnsPort) ? Number(flags.dnsPort) : 0
  if (port < 1 || port > 65535) throw new DnsQueryError('bad-question', '--dns-port: expected a port from 1 to 65535')
  if (!Object.hasOwn(DNS.Packet.TYPE, type.toUpperCase())) {
    const known = Object.keys(DNS.Packet.TYPE).join(', ')
    throw new DnsQueryError('bad-question', `expected a record type (${known}), found ${JSON.stringify(type)}`)
  }
  const problem = findNameProblem(name)
  if (problem !== undefined) throw new DnsQueryError('bad-question', `${JSON.stringify(name)} is no name: ${problem}`)
  return { name, type: type.toUpperCase(), server, port, overTcp: flags.tcp === true }
}

/** Checks the limits of RFC 1035 section 2.3.4; any characters may stand in a label (RFC 2181 section 11). */
function findNameProblem(name: string): string | undefined {
  if (name === '.') return undefined
  const labels = name.replace(/\.$/, '').split('.')
  if (labels.includes('')) return 'expected labels that are not empty between the dots'
  if (labels.some((label) => Buffer.byteLength(label) > 63)) return 'expected labels of at most 63 bytes'
  return Buffer.byteLength(labels.join('.')) > 253 ? 'expected at most 253 bytes' : undefined
}

/** Answer of `platnet dns query -o json`; records as a zone file has them. */
interface DnsAnswer {
  readonly rcode: string
  readonly authoritative: boolean
  readonly server: Ip
  readonly port: number
  readonly tookMs: number
  readonly records: readonly string[]
  /** The source of the answer as the agent of this machine reports it; absent for another server. */
  readonly explanation?: DnsExplanation
  /** The reason why there is no explanation. */
  readonly unexplained?: string
}

async function answer(question: Question): Promise<DnsAnswer> {
  const startedMs = performance.now()
  const { header, answers, authorities, additionals } = await ask(question)
  return {
    rcode: rcodeName(header.rcode),
    authoritative: Boolean(header.aa),
    server: question.server,
    port: question.port,
    tookMs: Number((performance.now() - startedMs).toFixed(1)),
    records: [...answers, ...authorities, ...additionals].map(renderRecord).filter((line) => line !== undefined),
  }
}

/** The answer itself has no reason, which may be the name of an upstream: that is for operators. */
const whereReasonsAre =
  ';; the log of the agent that answers says why: target platform_dns::resolver, the name of the question'

function renderAnswer(found: DnsAnswer): string {
  const { rcode, authoritative, server, port, tookMs, records, explanation, unexplained } = found
  const lines = [
    `;; ${rcode}${authoritative ? ', authoritative' : ''} from ${server} port ${port} in ${tookMs.toFixed(1)} ms`,
    ...records,
    ...(explanation ? [renderExplanation(explanation)] : []),
    ...(unexplained === undefined ? [] : [`;; no explanation: ${unexplained}`]),
    ...(rcode === 'SERVFAIL' ? [whereReasonsAre] : []),
  ]
  return `${lines.join('\n')}\n`
}

async function explain(
  controlSocket: string,
  { name, type }: Question,
): Promise<Pick<DnsAnswer, 'explanation' | 'unexplained'>> {
  try {
    return { explanation: await askDnsExplanation(controlSocket, name, type) }
  } catch (error) {
    if (!(error instanceof AskError)) throw error
    return { unexplained: error.message }
  }
}

function renderExplanation({ plugin, ageMs, object, changedAtMs }: DnsExplanation): string {
  const kept = plugin === 'cache' ? `, kept for ${(ageMs / 1000).toFixed(1)} s` : ''
  const changed = changedAtMs === undefined ? '' : `, changed ${((Date.now() - changedAtMs) / 1000).toFixed(1)} s ago`
  return `;; plugin ${plugin}${kept}${object === undefined ? '' : `, ${object}${changed}`}`
}

async function ask({ name, type, server, port, overTcp }: Question): Promise<DNS.Packet> {
  const where = { dns: server, port }
  const family = ipFamily(server) === 'IPv6' ? 'udp6' : 'udp4'
  const client = overTcp ? DNS.TCPClient(where) : DNS.UDPClient({ ...where, socketType: family, timeout: 5_000 })
  try {
    return await client(name, type)
  } catch (cause) {
    throw new DnsQueryError('no-answer', `${server} port ${port} gave no answer`, {
      object: `${name} ${type}`,
      remedy: 'check with "platnet status" whether this node serves DNS, or name another server with --dns-server',
      cause,
    })
  }
}

function rcodeName(rcode: number): string {
  return Object.entries(DNS.Packet.RCODE).find(([, code]) => code === rcode)?.[0] ?? `RCODE${rcode}`
}
