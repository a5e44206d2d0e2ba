import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { ExecError, isTextBusy, type Run } from '../../host/index.ts'
import { isObject, type Json, type JsonObject } from '../../model/api-object.ts'
import { CniError } from './errors.ts'
import type { RunningCalls } from './running-calls.ts'

export type Command = 'ADD' | 'DEL' | 'CHECK' | 'STATUS' | 'GC' | 'VERSION'

export interface PluginCall {
  readonly command: Command
  /** The plugin's type, for messages. */
  readonly plugin: string
  readonly path: string
  /** The container; undefined for VERSION. */
  readonly network?: { readonly name: string; readonly file: string }
  /** The keys of the specification, `CNI_COMMAND` and `CNI_PATH` apart. */
  readonly variables: Readonly<Record<string, string>>
  readonly binDirs: readonly string[]
  readonly config: JsonObject
  readonly signal?: AbortSignal
}

export interface CallSettings {
  readonly run: Run
  /** Time limit, at which the process group is killed. */
  readonly timeoutMs: number
  /** Delay between attempts while the binary is being replaced. */
  readonly busyDelayMs: number
  /** The environment, of which plugins get PATH and the trace variables. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Registry of running calls. */
  readonly running: RunningCalls
  /** Signals of a command that its user interrupts. */
  readonly stop?: StopSignals | undefined
}

export interface StopSignals {
  /** Kills every running plugin and starts no other; an interrupted ADD is then undone. */
  readonly work: AbortSignal
  /** Kills every plugin of an undo (DEL) and starts no other. */
  readonly undoing: AbortSignal
}

/** Limit of a plugin's output; a result has a few hundred bytes. */
const maxOutputBytes = 1024 * 1024
const busyAttempts = 6
const passedVariables = ['PATH', 'TRACEPARENT', 'TRACESTATE', 'BAGGAGE'] as const

/**
 * Calls one plugin once. Resolves with the object that it printed, an empty one if it printed nothing. Throws CniError with the plugin's
 * own message in libcni's wording, which users search for.
 */
export async function callPlugin(call: PluginCall, settings: CallSettings): Promise<JsonObject> {
  const result = await runWhileBusy(call, settings)
  if (result.endedBy !== 'exit') throw explainEnd(call, result.endedBy, settings.timeoutMs)
  if (result.exitCode !== 0) throw explainFailure(call, result)
  const output = parseOutput(call, result.stdout)
  // Exit 0 with an error object: a plugin whose exit code got lost, in a shell wrapper for example.
  if (isErrorObject(output)) throw explainFailure(call, result)
  return output
}

async function runWhileBusy(call: PluginCall, settings: CallSettings): ReturnType<Run> {
  const signal = signalOf(call, settings)
  const options = {
    env: environmentOf(call, settings.env),
    input: JSON.stringify(call.config),
    timeoutMs: settings.timeoutMs,
    maxOutputBytes,
    untrusted: true,
    ...(signal && { signal }),
  }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await settings.running.during(aboutCall(call), settings.timeoutMs, () =>
        settings.run(call.path, [], options),
      )
    } catch (error) {
      if (!isTextBusy(error) || attempt === busyAttempts) throw explainStart(call, error)
      await sleep(settings.busyDelayMs)
    }
  }
}

function aboutCall({ command, plugin, network, variables }: PluginCall): Parameters<RunningCalls['during']>[0] {
  return { command, plugin, network, containerId: network && variables['CNI_CONTAINERID'] }
}

function signalOf({ command, signal }: PluginCall, { stop }: CallSettings): AbortSignal | undefined {
  const own = command === 'DEL' ? stop?.undoing : stop?.work
  return signal && own ? AbortSignal.any([signal, own]) : (signal ?? own)
}

function environmentOf(call: PluginCall, own: CallSettings['env']): Record<string, string> {
  const passed = passedVariables.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]))
  const path = `${own['PATH'] ?? '/usr/bin:/bin'}:/usr/local/sbin:/usr/sbin:/sbin`
  return {
    ...Object.fromEntries(passed),
    PATH: path,
    ...call.variables,
    CNI_COMMAND: call.command,
    CNI_PATH: call.binDirs.join(':'),
  }
}

function parseOutput(call: PluginCall, stdout: string): JsonObject {
  if (stdout.trim() === '') return {}
  try {
    const json: Json = JSON.parse(stdout)
    if (isObject(json)) return json
  } catch {
    // The check below reports this and every other output that is not an object.
  }
  throw new CniError('bad-output', `${nameOf(call)} printed what is not a JSON object: ${quote(stdout)}`, {
    object: call.path,
  })
}

const errorSchema = z.looseObject({
  code: z.number().int(),
  msg: z.string().optional(),
  details: z.string().optional(),
})

function isErrorObject(output: JsonObject): boolean {
  return typeof output['code'] === 'number' && output['code'] !== 0 && typeof output['msg'] === 'string'
}

function explainFailure(
  call: PluginCall,
  result: { stdout: string; stderr: string; exitCode: number | undefined },
): CniError {
  const { message, code } = readMessage(result)
  const remedy = remedyOf(message, code)
  return new CniError('plugin-failed', `${nameOf(call)}: ${message}`, {
    object: call.path,
    ...(remedy && { remedy }),
    ...(code !== undefined && { pluginCode: code }),
  })
}

/** Remedies for the most frequent causes. */
function remedyOf(message: string, code: number | undefined): string | undefined {
  if (code === 11) return 'the plugin asks to be tried again later'
  if (message.includes('no IP addresses available'))
    return '"platnet cni doctor" shows addresses that are held for pods that are gone, and takes them back with --fix; else the network needs a larger range'
  const [, bridge] = /"?([\w.-]+)"? already has an IP address different from/.exec(message) ?? []
  if (bridge === undefined) return undefined
  return `the range of the network's list was changed while the bridge ${bridge} has the old one: put the old one back, or end the pods of this node and take the bridge away ("ip link delete ${bridge}"): the next pod makes it anew`
}

/** Builds the message in one of libcni's three wordings. */
function readMessage({ stdout, stderr, exitCode }: { stdout: string; stderr: string; exitCode: number | undefined }): {
  readonly message: string
  readonly code?: number
} {
  const status = exitCode === undefined ? 'ended by a signal' : `exit status ${exitCode}`
  if (stdout.trim() === '') {
    if (stderr.trim() === '') return { message: `netplugin failed with no error message: ${status}` }
    return { message: `netplugin failed: ${quote(stderr)}` }
  }
  const parsed = errorSchema.safeParse(jsonOrNothing(stdout))
  if (!parsed.success) return { message: `netplugin failed but error parsing its diagnostic message ${quote(stdout)}` }
  const { code, msg = 'no message', details } = parsed.data
  return { message: `${clip(msg)}${details ? `; ${clip(details)}` : ''} (code ${code})`, code }
}

function explainEnd(call: PluginCall, endedBy: 'timeout' | 'output' | 'caller', timeoutMs: number): CniError {
  const details = { object: call.path }
  if (endedBy === 'timeout')
    return new CniError('plugin-timeout', `${nameOf(call)} was killed after ${timeoutMs} ms`, details)
  if (endedBy === 'caller') return new CniError('cancelled', `${nameOf(call)} was killed: its caller gave up`, details)
  return new CniError('bad-output', `${nameOf(call)} was killed: it printed more than ${maxOutputBytes} bytes`, details)
}

function explainStart(call: PluginCall, error: unknown): CniError {
  const isMissing = error instanceof ExecError && error.code === 'not-found'
  const message = `${nameOf(call)} could not be started`
  return new CniError(isMissing ? 'plugin-missing' : 'plugin-failed', message, { object: call.path, cause: error })
}

function nameOf({ plugin, command }: PluginCall): string {
  return `the plugin ${plugin} (${command})`
}

function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function quote(text: string): string {
  return JSON.stringify(clip(text.trim()))
}

function clip(text: string): string {
  return text.length > 1024 ? `${text.slice(0, 1024)}…` : text
}
