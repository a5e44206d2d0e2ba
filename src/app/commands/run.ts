import { flushCompileCache } from 'node:module'
import path from 'node:path'
import { z } from 'zod'
import { applySysctls, createNotifier, type Notifier, ProgramStarter } from '../../host/index.ts'
import type { Component } from '../../loop/component.ts'
import type { Logger } from '../../observe/index.ts'
import type { ServerSide } from '../composition/compose-server.ts'
import { wantedSysctls } from '../composition/wanted-sysctls.ts'
import type { AppContext } from '../context.ts'
import { agentArguments } from '../lifecycle/agent-arguments.ts'
import { type AgentMessage, AgentSupervisor } from '../lifecycle/agent-supervisor.ts'
import { Lifecycle } from '../lifecycle/lifecycle.ts'
import { reloadOnHangup } from '../lifecycle/reload.ts'
import { listenForSignals } from '../lifecycle/until-signal.ts'
import { whenReady } from '../lifecycle/when-ready.ts'
import { partsOf } from '../option-groups.ts'

/** Ends when the program was asked to stop and everything has stopped; `forced` if it was asked a second time meanwhile. */
export type RunEnd = 'stopped' | 'forced'

/** `platnet server`: the API core and its controllers. */
export async function runServer(context: AppContext): Promise<RunEnd> {
  const log = serverLog(context)
  reloadOnHangup(context, log, async () => {})
  const notifier = createNotifier(log, context.env)
  const { components, drain } = await composeServer(context)
  return runComponents(components, {
    log,
    notifier,
    onStarted: () => notifier.ready('serving the API'),
    drain,
  })
}

/** `platnet agent`: the node side alone; under a supervisor it says when it is ready and ends with it. */
export async function runAgent(context: AppContext): Promise<RunEnd> {
  const log = agentLog(context)
  const programs = new ProgramStarter()
  const [{ checkBeforeStart }, { composeAgent }] = await Promise.all([
    import('./check.ts'),
    import('../composition/compose-agent.ts'),
  ])
  const components = await bothAtOnce(checkBeforeStart(context, programs.runProgram), composeAgent(context, programs))
  await reportSysctls(context, log)
  if (process.send) process.on('message', (message) => takeLogFilter(context, message))
  else reloadOnHangup(context, log, async () => {})
  const notifier = createNotifier(log, process.send ? {} : context.env)
  const onStarted = async () => {
    await whenReady(components)
    log.info('the first sync is applied')
    // Kept also when the agent is killed: the next one needs no compiler of types.
    flushCompileCache()
    const message: AgentMessage = { kind: 'ready' }
    process.send?.(message)
    await notifier.ready('rules are in the kernel')
  }
  return runComponents(components, { log, notifier, onStarted })
}

/** Both ask programs, and wait for them more than they work. What the check finds says more than what fails for the same reason. */
async function bothAtOnce<T>(check: Promise<void>, composing: Promise<T>): Promise<T> {
  const [checked] = await Promise.allSettled([check, composing])
  if (checked.status === 'rejected') throw checked.reason
  return composing
}

/** `platnet run`: the server here, the agent as a second process. */
export async function runNode(context: AppContext): Promise<RunEnd> {
  const log = serverLog(context)
  const notifier = createNotifier(log, context.env)
  const main = path.resolve(import.meta.dirname, '../../main.ts')
  const agent = new AgentSupervisor({
    command: [process.execPath, ...process.execArgv, main, ...agentArguments(context.options)],
    onReady: () => void notifier.ready('rules are in the kernel'),
    log: agentLog(context).child('supervisor'),
  })
  reloadOnHangup(context, log, ({ values }) => agent.send({ kind: 'log-filter', filter: values.observe.logLevel }))
  const server = await composeServer(context)
  const withAgent = partsOf.agent.some((part) => context.options.values.app.components.includes(part))
  const parts = [...server.components, ...(withAgent ? [agent] : [])]
  const onStarted = async () => {
    if (!withAgent) await notifier.ready('serving the API')
  }
  return runComponents(parts, { log, notifier, onStarted, drain: server.drain })
}

const managers = ['controllers', 'scheduler'] as const

/** Those parts of the server that `--components` names. */
async function composeServer(
  context: AppContext,
): Promise<{ readonly components: readonly Component[]; readonly drain: () => Promise<void> }> {
  const server = context.options.values.app.components.includes('api') ? await createServerSide(context) : undefined
  const components = [...(server ? [server] : []), ...(await composeManagers(context))]
  return { components, drain: async () => server?.drain() }
}

/** An agent starts sooner without the API's code. */
async function createServerSide(context: AppContext): Promise<ServerSide> {
  const { ServerSide } = await import('../composition/compose-server.ts')
  return new ServerSide(context)
}

/** Their code, and the client's that they use, is loaded only where they run: an API server alone is smaller by it. */
async function composeManagers(context: AppContext): Promise<readonly Component[]> {
  const wanted = managers.filter((role) => context.options.values.app.components.includes(role))
  if (wanted.length === 0) return []
  const { ControllersSide } = await import('../composition/compose-controllers.ts')
  return wanted.map((role) => new ControllersSide(role, context))
}

function takeLogFilter(context: AppContext, message: unknown): void {
  const parsed = z.object({ kind: z.literal('log-filter'), filter: z.string() }).safeParse(message)
  if (parsed.success) context.logging.setFilter(parsed.data.filter)
}

interface RunHooks {
  readonly log: Logger
  readonly notifier: Notifier
  /** Runs beside everything else once all components have started. */
  readonly onStarted: () => Promise<void>
  /** Runs when a stop was asked for, before the first component is stopped. */
  readonly drain?: () => Promise<void>
}

const deadlines = { startDeadlineMs: 60_000, stopDeadlineMs: 15_000 }

async function runComponents(components: readonly Component[], hooks: RunHooks): Promise<RunEnd> {
  const { log } = hooks
  const signals = listenForSignals()
  const lifecycle = new Lifecycle(components, { log, ...deadlines })
  const stopped = (async (): Promise<RunEnd> => {
    await lifecycle.start()
    void hooks.onStarted().catch((error) => log.error('readiness could not be told', { error }))
    log.info('stopping', { because: await signals.requested })
    await hooks.notifier.stopping()
    await hooks.drain?.()
    await lifecycle.stop()
    return 'stopped'
  })()
  return Promise.race([stopped, signals.insisted.then((): RunEnd => 'forced')])
}

async function reportSysctls({ options }: AppContext, log: Logger): Promise<void> {
  for (const { name, was, now, problem } of await applySysctls(wantedSysctls(options))) {
    if (problem) log.warn('a kernel setting is not as wanted', { name, now, problem })
    else if (was !== now) log.info('kernel setting changed', { name, was, now })
    else log.debug('kernel setting is as wanted', { name, now })
  }
}

function agentLog(context: AppContext): Logger {
  return context.logging.logger('platform_kubelet')
}

/** Of the process with the server's parts: under the name of the first one that it has. */
function serverLog(context: AppContext): Logger {
  const { components } = context.options.values.app
  if (components.includes('api')) return context.logging.logger('platform_api_server')
  return context.logging.logger(
    components.includes('controllers') ? 'platform_controller_manager' : 'platform_scheduler',
  )
}
