import { flushCompileCache } from 'node:module'
import path from 'node:path'
import { z } from 'zod'
import { applySysctls, createFastRun, createNotifier, type Notifier, readWatchdogMs } from '../../host/index.ts'
import type { Component } from '../../loop/component.ts'
import { createIdleMemory } from '../../loop/idle-memory.ts'
import type { Logger } from '../../observe/index.ts'
import type { ServerSide } from '../composition/compose-server.ts'
import { composeTracing } from '../composition/compose-tracing.ts'
import { forwardingSysctls, wantedSysctls } from '../composition/wanted-sysctls.ts'
import type { AppContext } from '../context.ts'
import { agentArguments } from '../lifecycle/agent-arguments.ts'
import { agentFlags, limitHeapsOfThreads } from '../lifecycle/agent-heap.ts'
import { type AgentMessage, AgentSupervisor, aliveAtRestMs, aliveIntervalMs } from '../lifecycle/agent-supervisor.ts'
import { awaitUnclaimed, claimParts } from '../lifecycle/claim-parts.ts'
import { KeptSysctls } from '../lifecycle/kept-sysctls.ts'
import { Lifecycle } from '../lifecycle/lifecycle.ts'
import { Pulse } from '../lifecycle/pulse.ts'
import { leaveReloadToSupervisor, reloadOnChange } from '../lifecycle/reload.ts'
import { listenForSignals } from '../lifecycle/until-signal.ts'
import { whenReady } from '../lifecycle/when-ready.ts'
import { partsOf } from '../option-groups.ts'

/** `stopped` after an orderly stop; `forced` if a second signal came before it was complete. */
export type RunEnd = 'stopped' | 'forced'

/** Runs `platnet server`: the API core, its controllers and the scheduler. */
export async function runServer(untraced: AppContext): Promise<RunEnd> {
  const { context, components: tracing } = await composeTracing(untraced, 'platnet-server')
  const log = serverLog(context)
  reloadOnChange(context, log, () => {})
  const notifier = createNotifier(log, context.env)
  const { components, drain } = await composeServer(context)
  const pulse = composePulse(components, { context, notifier, log })
  return runComponents([...tracing, ...components, ...pulse], {
    log,
    notifier,
    onStarted: () => notifier.ready('serving the API'),
    drain,
  })
}

/** Runs `platnet agent`: the node side alone. Under a supervisor it reports when it is ready and ends with the supervisor. */
export async function runAgent(untraced: AppContext): Promise<RunEnd> {
  const { context, components: tracing } = await composeTracing(untraced, 'platnet-agent')
  const log = agentLog(context)
  if (process.send) leaveReloadToSupervisor()
  limitHeapsOfThreads()
  await claimParts({ components: context.options.values.app.components, log })
  const run = createFastRun()
  const [{ checkBeforeStart }, { composeAgent }, { createModeChooser }] = await Promise.all([
    import('./check.ts'),
    import('../composition/compose-agent.ts'),
    import('../composition/proxy-mode-choice.ts'),
  ])
  const modes = createModeChooser(context.options.values.proxy.proxyMode, run)
  const components = await bothAtOnce(checkBeforeStart(context, run, modes), composeAgent(context, run, modes))
  await reportSysctls(context, log)
  if (process.send) process.on('message', (message) => takeOptions(context, message))
  else reloadOnChange(context, log, () => {})
  reapplySysctls(context, log)
  const notifier = createNotifier(log, process.send ? {} : context.env, run)
  const onStarted = async () => {
    await whenReady(components)
    log.info('the first sync is applied')
    // Flushed now, so that the compiled code is on disk even if the agent is killed later.
    flushCompileCache()
    const message: AgentMessage = { kind: 'ready' }
    process.send?.(message)
    await notifier.ready('rules are in the kernel')
  }
  const pulse = process.send ? [agentPulse(components, log)] : composePulse(components, { context, notifier, log })
  const settings = new KeptSysctls({ wishes: forwardingSysctls(context.live), log })
  return runComponents([...tracing, settings, ...components, ...pulse], { log, notifier, onStarted })
}

/** Probes the host and composes the agent side by side, because both mostly wait for programs. A failed check explains more than a failed composition, so it is thrown first. */
async function bothAtOnce<T>(check: Promise<void>, composing: Promise<T>): Promise<T> {
  const [checked] = await Promise.allSettled([check, composing])
  if (checked.status === 'rejected') throw checked.reason
  return composing
}

/** Runs `platnet run`: the server in this process, the agent in a second one. */
export async function runNode(untraced: AppContext): Promise<RunEnd> {
  const { context, components: tracing } = await composeTracing(untraced, 'platnet-server')
  const log = serverLog(context)
  const notifier = createNotifier(log, context.env)
  const main = path.resolve(import.meta.dirname, '../../main.ts')
  const agent = new AgentSupervisor({
    command: () => [process.execPath, ...agentFlags(process.execArgv), main, ...agentArguments(context.live)],
    onReady: () => {
      void notifier.ready('rules are in the kernel')
      sendOptions()
    },
    log: agentLog(context).child('supervisor'),
  })
  const sendOptions = () => {
    const { live } = context
    if (live.report) void agent.send({ kind: 'options', shown: live.shown(), report: live.report })
  }
  reloadOnChange(context, log, sendOptions)
  const withAgent = partsOf.agent.some((part) => context.options.values.app.components.includes(part))
  if (withAgent) {
    const { requireAgentPort, requirePrivilege } = await import('./check.ts')
    await requirePrivilege()
    await requireAgentPort(context.options)
    await awaitUnclaimed(context.options.values.app)
  }
  const server = await composeServer(context)
  const working = [...server.components, ...(withAgent ? [agent] : [])]
  const parts = [...tracing, ...working, ...composePulse(working, { context, notifier, log })]
  const onStarted = async () => {
    if (!withAgent) await notifier.ready('serving the API')
  }
  return runComponents(parts, { log, notifier, onStarted, drain: server.drain, failures: [agent.gaveUp] })
}

/** Under systemd tells it again and again that this process works, thrice as often as it wants to know. */
function composePulse(
  components: readonly Component[],
  { context, notifier, log }: { readonly context: AppContext; readonly notifier: Notifier; readonly log: Logger },
): readonly Component[] {
  if (!context.env['NOTIFY_SOCKET']) return []
  const intervalMs = (readWatchdogMs(context.env) ?? 30_000) / 3
  return [new Pulse({ components, intervalMs, beat: (status) => notifier.alive(status), log: log.child('pulse') })]
}

/** Tells the supervisor again and again that this agent works. */
function agentPulse(components: readonly Component[], log: Logger): Component {
  const beat = (status: string): void => {
    const message: AgentMessage = { kind: 'alive', status }
    process.send?.(message)
  }
  const rhythm = { intervalMs: aliveIntervalMs, restMs: aliveAtRestMs }
  return new Pulse({ components, ...rhythm, beat, log: log.child('pulse') })
}

const managers = ['controllers', 'scheduler'] as const

/** Composes the parts of the server that `--components` names. */
async function composeServer(
  context: AppContext,
): Promise<{ readonly components: readonly Component[]; readonly drain: () => Promise<void> }> {
  const server = context.options.values.app.components.includes('api') ? await createServerSide(context) : undefined
  const managers = await composeManagers(context)
  const console = server ? await composeConsole(context, [server, ...managers]) : []
  const components = [...(server ? [server] : []), ...managers, ...console, ...createIdleMemory(serverLog(context))]
  return { components, drain: async () => server?.drain() }
}

/** Loads the API core on demand: an agent starts sooner without it. */
async function createServerSide(context: AppContext): Promise<ServerSide> {
  const { ServerSide } = await import('../composition/compose-server.ts')
  return new ServerSide(context)
}

async function composeConsole(context: AppContext, parts: readonly Component[]): Promise<readonly Component[]> {
  if (!context.options.values.console.console) return []
  const { composeClusterDoor } = await import('../composition/compose-cluster-door.ts')
  return [composeClusterDoor(context, parts)]
}

/** Loads controllers and client on demand: an API server alone needs less memory without them. */
async function composeManagers(context: AppContext): Promise<readonly Component[]> {
  const wanted = managers.filter((role) => context.options.values.app.components.includes(role))
  if (wanted.length === 0) return []
  const { ControllersSide } = await import('../composition/compose-controllers.ts')
  return wanted.map((role) => new ControllersSide(role, context))
}

const optionsMessage = z.object({
  kind: z.literal('options'),
  shown: z.record(z.string(), z.unknown()),
  report: z.object({ atMs: z.number(), waiting: z.array(z.string()), problem: z.string().optional() }),
})

/** Takes the live options that the supervisor has read. */
function takeOptions({ live }: AppContext, message: unknown): void {
  const parsed = optionsMessage.safeParse(message)
  if (!parsed.success) return
  const { problem, ...report } = parsed.data.report
  live.takeShown(parsed.data.shown, { ...report, ...(problem !== undefined && { problem }) })
}

/** Sets the kernel settings again when options that choose them have changed. */
function reapplySysctls(context: AppContext, log: Logger): void {
  const { live } = context
  let before = JSON.stringify(wantedSysctls(live))
  live.onChange(() => {
    const wanted = JSON.stringify(wantedSysctls(live))
    if (wanted === before) return
    before = wanted
    void reportSysctls(context, log).catch((error: unknown) => log.warn('kernel settings were not changed', { error }))
  })
}

interface RunHooks {
  readonly log: Logger
  readonly notifier: Notifier
  /** Runs in the background once all components have started. */
  readonly onStarted: () => Promise<void>
  /** Runs after the stop signal, before the first component stops. */
  readonly drain?: () => Promise<void>
  /** Each resolves with an error that ends the command. */
  readonly failures?: readonly Promise<Error>[]
}

const deadlines = { startDeadlineMs: 60_000, stopDeadlineMs: 15_000 }

async function runComponents(components: readonly Component[], hooks: RunHooks): Promise<RunEnd> {
  const { log } = hooks
  const signals = listenForSignals()
  const lifecycle = new Lifecycle(components, { log, ...deadlines })
  const stopped = (async (): Promise<RunEnd> => {
    await lifecycle.start()
    void hooks.onStarted().catch((error) => log.error('readiness could not be reported', { error }))
    const because = await Promise.race([signals.requested, ...(hooks.failures ?? [])])
    log.info('stopping', { because })
    await hooks.notifier.stopping()
    await hooks.drain?.()
    await lifecycle.stop()
    if (because instanceof Error) throw because
    return 'stopped'
  })()
  return Promise.race([stopped, signals.insisted.then((): RunEnd => 'forced')])
}

async function reportSysctls({ live }: AppContext, log: Logger): Promise<void> {
  for (const { name, was, now, problem } of await applySysctls(wantedSysctls(live))) {
    if (problem) log.warn('a kernel setting does not have the wanted value', { name, now, problem })
    else if (was !== now) log.info('kernel setting changed', { name, was, now })
    else log.debug('kernel setting has the wanted value', { name, now })
  }
}

function agentLog(context: AppContext): Logger {
  return context.logging.logger('platform_kubelet')
}

/** Returns the log target of a process with server parts: that of the first part in it. */
function serverLog(context: AppContext): Logger {
  const { components } = context.options.values.app
  if (components.includes('api')) return context.logging.logger('platform_api_server')
  return context.logging.logger(
    components.includes('controllers') ? 'platform_controller_manager' : 'platform_scheduler',
  )
}
