import { askFlow, askService, askUrl, type FlowQuestion } from '../app/commands/ask-agent.ts'
import type { ServiceAnswer } from '../app/composition/proxy-questions.ts'
import { UsageError } from './exit-code.ts'
import { type OutputFormat, outputFlag, printAnswer, withProgress } from './output.ts'
import { type AddCommand, addOptionFlags, type CliContext, loadCommandOptions } from './program.ts'

/** `platnet explain SRC DST:PORT[/udp]`, `platnet explain service NS/NAME` and `platnet explain URL`, answered by the running agent. */
export const addExplainCommand: AddCommand = (program, context) => {
  const command = program
    .command('explain')
    .description(
      'explains what the wanted rules do with a connection ("platnet plan" compares them with the kernel), what a Service leads to, or which Ingress answers a URL, and why',
    )
    .argument(
      '<source>',
      'the address of the client, or NAMESPACE/NAME of a pod; or the word "service"; or http://HOST/PATH',
    )
    .argument(
      '[target]',
      'ADDRESS:PORT or NAMESPACE/POD:PORT, with /udp or /sctp where it is not TCP; ADDRESS/icmp or NAMESPACE/POD/icmp; or NAMESPACE/NAME of the Service',
    )
    .option(
      '--in-interface <name>',
      'the interface on which the packet arrives; that of the route to its source when not set',
    )
    .addOption(outputFlag())
  addOptionFlags(command, 'agent', ['config', 'controlSocket']).action(
    async (
      source: string,
      target: string | undefined,
      { output, inInterface }: { output: OutputFormat; inInterface?: string },
    ) => {
      const { values } = await loadCommandOptions(command, context, 'agent')
      const socket = values.node.controlSocket
      const ask = <Answer>(answer: Promise<Answer>) => withProgress(context, 'asking the agent', answer)
      if (target === undefined && /^https?:/i.test(source))
        printAnswer(context, output, await ask(askUrl(socket, source)), renderLines)
      else if (source === 'service' && target !== undefined)
        printAnswer(context, output, await ask(askService(socket, target)), renderService)
      else await explainFlow(context, { inInterface, socket, source, target: target ?? '', output })
    },
  )
}

interface FlowRequest {
  readonly inInterface: string | undefined
  readonly socket: string
  readonly source: string
  readonly target: string
  readonly output: OutputFormat
}

async function explainFlow(context: CliContext, request: FlowRequest): Promise<void> {
  const { inInterface } = request
  const question = parseTarget(request.source, request.target)
  if (question === undefined) throw refuseTarget(request)
  printAnswer(
    context,
    request.output,
    await withProgress(
      context,
      'asking the agent',
      askFlow(request.socket, { ...question, ...(inInterface && { inInterface }) }),
    ),
    renderLines,
  )
}

function refuseTarget({ source, target }: FlowRequest): UsageError {
  const expected =
    'expected ADDRESS:PORT or NAMESPACE/POD:PORT, such as 10.96.0.10:53/udp, [fd00::a]:443 or default/web:80, or 10.244.0.7/icmp'
  if (target !== '') return new UsageError('bad-question', `${JSON.stringify(target)} is no target: ${expected}`)
  const isName = /^[a-z0-9.-]+\/[a-z0-9.-]+$/.test(source)
  return new UsageError('bad-question', `the target of the connection is missing: ${expected}`, {
    ...(isName && { remedy: `for the Service of this name: "platnet explain service ${source}"` }),
  })
}

/**
 * Splits `10.96.0.10:53/udp`, `[fd00::a]:443`, `default/web:80` or `default/web/icmp`; undefined for any other form. The agent validates
 * addresses, pods and ports.
 */
function parseTarget(source: string, target: string): FlowQuestion | undefined {
  const pinged = icmpForm.exec(target)?.groups?.['destination']
  if (pinged !== undefined) return { source, destination: pinged.replaceAll(/^\[|\]$/g, ''), protocol: 'ICMP' }
  const { destination, port, protocol = 'tcp' } = targetForm.exec(target)?.groups ?? {}
  if (destination === undefined || port === undefined) return undefined
  const protocols = { tcp: 'TCP', udp: 'UDP', sctp: 'SCTP' } as const
  const name = protocol.toLowerCase()
  return name === 'tcp' || name === 'udp' || name === 'sctp'
    ? { source, destination: destination.replaceAll(/^\[|\]$/g, ''), port, protocol: protocols[name] }
    : undefined
}

const icmpForm = /^(?<destination>\[?[0-9a-fA-F:.]+\]?|[a-z0-9-]+\/[a-z0-9.-]+)\/icmp$/i

const targetForm =
  /^(?<destination>\[[0-9a-fA-F:.]+\]|[0-9.]+|[a-z0-9-]+\/[a-z0-9.-]+):(?<port>\d{1,5})(?:\/(?<protocol>tcp|udp|sctp))?$/i

function renderLines({ lines }: { readonly lines: readonly string[] }): string {
  return `${lines.join('\n')}\n`
}

type Family = ServiceAnswer['families'][number]

function renderService({ families }: ServiceAnswer): string {
  return `${families.flatMap(renderFamily).join('\n')}\n`
}

function renderFamily({ family, ports, chains, counters, changedAtMs, notes }: Family): string[] {
  if (ports.length === 0) return [`${family}: not served: ${notes.join('; ') || 'it is not planned yet'}`]
  const changed = changedAtMs === undefined ? 'never' : new Date(changedAtMs).toISOString()
  return [
    `${family}: last change ${changed}`,
    ...notes.map((note) => `  ${note}`),
    ...ports.flatMap(renderPort),
    ...counters.map(
      ({ chain, packets, bytes }) => `  ${chain}: ${packets} packets, ${bytes} bytes (first of each connection)`,
    ),
    ...(chains.length > counters.length ? [`  and ${chains.length - counters.length} more chains, not counted`] : []),
  ]
}

function renderPort({ servicePort, protocol, addresses, endpoints, refusals }: Family['ports'][number]): string[] {
  return [
    `  ${servicePort}/${protocol}: ${addresses.join(', ')}`,
    ...refusals.map((refusal) => `    ! ${refusal}`),
    ...endpoints.map(({ name, where, isUsed, reason }) => `    ${isUsed ? '+' : '-'} ${name}${where}: ${reason}`),
  ]
}
