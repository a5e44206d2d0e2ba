import { setTimeout as sleep } from 'node:timers/promises'
import { InvalidArgumentError } from 'commander'
import { AskError, askCounters, askStatus } from '../app/commands/ask-agent.ts'
import type { AgentCounters } from '../app/composition/agent-counters.ts'
import type { AgentStatus } from '../app/composition/agent-status.ts'
import { exitCodes } from './exit-code.ts'
import { drawScreen, isScreen, type OutputFormat, outputFlag, printAnswer, withProgress } from './output.ts'
import { type AddCommand, addOptionFlags, type CliContext, loadCommandOptions } from './program.ts'
import { renderScreen } from './status-screen.ts'
import { renderStatus } from './status-text.ts'

interface StatusFlags {
  readonly output: OutputFormat
  readonly watch: boolean
  readonly interval: number
}

/** `platnet status` ends with exit code 3 if a part of the agent is unhealthy. */
export const addStatusCommand: AddCommand = (program, context) => {
  const command = program
    .command('status')
    .description('shows what the running agent serves and what the kernel has')
    .option('-w, --watch', 'shows it again and again with the rates of the last interval, until Ctrl-C', false)
    .option('--interval <seconds>', 'how often --watch asks', parseInterval, 2)
    .addOption(outputFlag())
  addOptionFlags(command, 'agent', ['config', 'controlSocket']).action(async (flags: StatusFlags) => {
    const { values } = await loadCommandOptions(command, context, 'agent')
    const socket = values.node.controlSocket
    if (flags.watch) return watchStatus(context, socket, flags)
    const status = await withProgress(context, 'asking the agent', askStatus(socket))
    printAnswer(context, flags.output, status, renderStatus)
    if (Object.values(status.components).some(({ level }) => level !== 'ok')) context.finish(exitCodes.unhealthy)
  })
}

/** Growth of the agent's totals by second, over one interval. */
interface Rates {
  readonly dnsAnswers: number
  readonly ingressRequests: number
  readonly serviceSyncs: number
  readonly policySyncs: number
  readonly deniedPackets: number
  readonly cpuPercent: number
  readonly residentBytes: number
}

type WatchedStatus = AgentStatus & { readonly rates: Rates }

/** The first rates come sooner than the interval, so that a long one does not begin with an empty screen. */
const firstAnswerMs = 500

async function watchStatus(context: CliContext, socket: string, { output, interval }: StatusFlags): Promise<void> {
  const ended = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort())
  let waitMs = Math.min(firstAnswerMs, interval * 1000)
  for (let before = await askCounters(socket); ; ) {
    await sleep(waitMs, undefined, { signal: ended.signal }).catch(() => {})
    waitMs = interval * 1000
    if (ended.signal.aborted) return
    const seen = await askAgain(context, socket)
    if (seen === undefined) continue
    show(context, output, { ...seen.status, rates: ratesBetween(before, seen.counters) })
    before = seen.counters
  }
}

/** Asks once more; an agent that starts again is away for some seconds, which does not end the watch. */
async function askAgain(context: CliContext, socket: string) {
  try {
    const [status, counters] = await Promise.all([askStatus(socket), askCounters(socket)])
    return { status, counters }
  } catch (error) {
    if (!(error instanceof AskError) || error.code !== 'agent-away') throw error
    context.stderr.write(`${new Date().toISOString()}  no agent answers: waiting for it\n`)
    return undefined
  }
}

/** On a terminal the newest answer replaces the one before; elsewhere they follow each other. */
function show(context: CliContext, output: OutputFormat, status: WatchedStatus): void {
  const isText = output === 'text' || output === 'wide'
  if (isText && isScreen(context))
    drawScreen(context, renderScreen(status, [renderRates(status.rates)], output === 'wide', context.stdout))
  else
    printAnswer(
      context,
      output,
      status,
      (answer, isWide) => `${renderRates(answer.rates)}\n${renderStatus(answer, isWide)}`,
    )
}

function renderRates(rates: Rates): string {
  const parts = [
    `${rates.ingressRequests} requests/s`,
    `${rates.dnsAnswers} DNS answers/s`,
    `${rates.serviceSyncs} syncs/s of Services`,
    `${rates.policySyncs} of policies`,
    `${rates.deniedPackets} denied packets/s`,
    `${rates.cpuPercent} % of a core`,
    `${Math.round(rates.residentBytes / 2 ** 20)} MiB`,
  ]
  return `${new Date().toISOString()}  ${parts.join(', ')}`
}

/** A counter that fell was reset by a new agent: nothing is known of that interval, and its rate is 0. */
function ratesBetween(before: AgentCounters, now: AgentCounters): Rates {
  const seconds = (now.atMs - before.atMs) / 1000
  const rate = (name: keyof AgentCounters, scale = 1) => {
    const growth = now[name] - before[name]
    return growth > 0 && seconds > 0 ? Number(((growth * scale) / seconds).toPrecision(3)) : 0
  }
  return {
    dnsAnswers: rate('dnsAnswers'),
    ingressRequests: rate('ingressRequests'),
    serviceSyncs: rate('serviceSyncs'),
    policySyncs: rate('policySyncs'),
    deniedPackets: rate('deniedPackets'),
    cpuPercent: rate('cpuSeconds', 100),
    residentBytes: now.residentBytes,
  }
}

function parseInterval(text: string): number {
  const seconds = /^\d{1,4}(\.\d{1,3})?$/.test(text) ? Number(text) : 0
  if (seconds <= 0) throw new InvalidArgumentError('expected seconds, such as 2 or 0.5')
  return seconds
}
