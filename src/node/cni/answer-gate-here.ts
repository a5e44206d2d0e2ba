import type { ProgramResult, Run, RunOptions } from '../../host/index.ts'
import { isObject, type Json, type JsonObject } from '../../model/api-object.ts'
import type { CniGate } from './gate.ts'

export interface GateHere {
  readonly gate: Pick<CniGate, 'answer'>
  /** Path of this version's `platnet-gate`; another file of that name runs as an ordinary plugin. */
  readonly program: string
  /** This agent's control socket; a list that names another socket means another agent. */
  readonly socket: string
  /** Starts every other plugin. */
  readonly run: Run
}

const defaultSocket = '/run/platnet/agent.sock'
const defaultTimeoutMs = 10_000
const passedVariables = ['COMMAND', 'CONTAINERID', 'IFNAME', 'NETNS', 'ARGS'] as const

/**
 * Creates a runner that answers for `platnet-gate` in the agent itself: where the agent runs the list, the program would only ask the
 * agent that started it. The output equals that of the program (cni/platnet-gate; the same tests cover both). VERSION still starts the
 * program, once.
 */
export function answerGateHere({ gate, program, socket, run }: GateHere): Run {
  return async (file, args, options) => {
    const config =
      file === program && options.env?.['CNI_COMMAND'] !== 'VERSION' ? objectOf(options.input ?? '') : undefined
    const isOurs = config !== undefined && textOf(config['socket'], defaultSocket) === socket
    return isOurs ? answer(gate, config, options) : run(file, args, options)
  }
}

async function answer(
  gate: GateHere['gate'],
  config: JsonObject,
  { env = {}, input = '', timeoutMs, signal }: RunOptions,
): Promise<ProgramResult> {
  const startedMs = performance.now()
  const end = (more: Pick<ProgramResult, 'exitCode' | 'stdout'> & Partial<ProgramResult>): ProgramResult => ({
    endedBy: 'exit',
    stderr: '',
    durationMs: performance.now() - startedMs,
    ...more,
  })
  const variables = passedVariables.map((name) => [name, env[`CNI_${name}`] ?? ''] as const)
  const broken = variables.find(([, value]) => hasControlCharacter(value))
  if (broken) return end(failure(4, `CNI_${broken[0]} holds a control character`))
  const deadline = AbortSignal.timeout(timeoutMs)
  const headers = Object.fromEntries(variables.map(([name, value]) => [`x-cni-${name.toLowerCase()}`, value]))
  const { status, body } = await gate.answer({
    headers: { ...headers, 'x-timeout-ms': String(Math.trunc(timeoutOf(config) * 0.9)) },
    body: input,
    signal: AbortSignal.any([deadline, ...(signal ? [signal] : [])]),
  })
  if (signal?.aborted) return end({ endedBy: 'caller', exitCode: undefined, stdout: '' })
  if (deadline.aborted) return end({ endedBy: 'timeout', exitCode: undefined, stdout: '' })
  const isOpen = status === 200 || textOf(config['onFailure'], 'fail') === 'pass'
  return end(outcome(env['CNI_COMMAND'], config, isOpen ? undefined : body))
}

/** Builds the answer of DEL, CHECK and GC, which never fail. */
function outcome(
  command: string | undefined,
  { prevResult }: JsonObject,
  problem: string | undefined,
): Pick<ProgramResult, 'exitCode' | 'stdout'> {
  if (command === 'ADD' && prevResult === undefined)
    return failure(7, 'there is no prevResult: it must come after the plugin that makes the interface')
  if (command === 'ADD' && problem !== undefined) return failure(11, problem)
  if (command === 'STATUS' && problem !== undefined) return failure(50, problem)
  return { exitCode: 0, stdout: command === 'ADD' ? `${JSON.stringify(prevResult)}\n` : '' }
}

function failure(code: number, message: string): Pick<ProgramResult, 'exitCode' | 'stdout'> {
  return { exitCode: 1, stdout: JSON.stringify({ cniVersion: '1.0.0', code, msg: `platnet-gate: ${message}` }) }
}

function timeoutOf({ timeoutMs }: JsonObject): number {
  const isUsable = typeof timeoutMs === 'number' && Number.isInteger(timeoutMs) && timeoutMs >= 0 && timeoutMs < 1e6
  return isUsable ? timeoutMs : defaultTimeoutMs
}

function textOf(value: Json | undefined, fallback: string): string {
  return typeof value === 'string' ? value : fallback
}

function objectOf(text: string): JsonObject | undefined {
  try {
    const json: Json = JSON.parse(text)
    return isObject(json) ? json : undefined
  } catch {
    return undefined
  }
}

function hasControlCharacter(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\u007f')
}
