import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { describeError } from '../../model/errors.ts'
import type { Ip } from '../../model/ip.ts'
import type { ContainerSpec, ProbeSpec } from './pod-spec.ts'
import type { ExecResult } from './runtime.ts'

export type ProbeKind = 'startup' | 'liveness' | 'readiness'

/** Undefined: the probe succeeded; otherwise why not. */
export type ProbeFailure = string | undefined

export interface ProbeTarget {
  /** Where the pod is reached. */
  readonly ip: Ip
  readonly container: ContainerSpec
  readonly exec: (command: readonly string[], timeoutMs: number) => Promise<ExecResult>
}

/** Asks once. Never throws. */
export async function runProbe(probe: ProbeSpec, target: ProbeTarget): Promise<ProbeFailure> {
  const timeoutMs = probe.timeoutSeconds * 1000
  try {
    if (probe.exec) return await probeExec(probe.exec.command, timeoutMs, target)
    if (probe.httpGet) return await probeHttp(probe.httpGet, timeoutMs, target)
    if (probe.tcpSocket) return await probeTcp(probe.tcpSocket, timeoutMs, target)
    return 'the probe says neither httpGet, tcpSocket nor exec'
  } catch (error) {
    return describeError(error)
  }
}

async function probeExec(command: readonly string[], timeoutMs: number, { exec }: ProbeTarget): Promise<ProbeFailure> {
  const { exitCode, output } = await exec(command, timeoutMs)
  return exitCode === 0 ? undefined : `${command[0]} exited with ${exitCode}: ${output.trim().slice(0, 200)}`
}

/** A status from 200 to 399 is success; a redirect is not followed and no certificate is checked, as kubelet does it. */
function probeHttp(
  { path, port, host, scheme, httpHeaders }: NonNullable<ProbeSpec['httpGet']>,
  timeoutMs: number,
  target: ProbeTarget,
): Promise<ProbeFailure> {
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]))
  const options = {
    host: host === '' ? target.ip : host,
    port: portOf(port, target.container),
    path: path.startsWith('/') ? path : `/${path}`,
    headers: { 'user-agent': 'platnet-probe', accept: '*/*', ...headers },
    agent: false as const,
    signal: AbortSignal.timeout(timeoutMs),
  }
  return new Promise((resolve, reject) => {
    const asked = scheme === 'HTTPS' ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options)
    asked.once('error', reject)
    asked.once('response', (response) => {
      const status = response.statusCode ?? 0
      response.destroy()
      resolve(status >= 200 && status < 400 ? undefined : `the answer has the status ${status}`)
    })
    asked.end()
  })
}

function probeTcp(
  { port, host }: NonNullable<ProbeSpec['tcpSocket']>,
  timeoutMs: number,
  target: ProbeTarget,
): Promise<ProbeFailure> {
  const socket = connect({ host: host === '' ? target.ip : host, port: portOf(port, target.container) })
  return new Promise<ProbeFailure>((resolve, reject) => {
    socket.setTimeout(timeoutMs, () => resolve(`no connection within ${timeoutMs} ms`))
    socket.once('connect', () => resolve(undefined))
    socket.once('error', reject)
  }).finally(() => socket.destroy())
}

function portOf(port: number | string, { ports }: ContainerSpec): number {
  if (typeof port === 'number') return port
  const found = ports.find(({ name }) => name === port)
  if (found === undefined) throw new TypeError(`the container has no port named ${port}`)
  return found.containerPort
}

export interface ProbeVerdict {
  readonly isHealthy: boolean
  readonly successes: number
  readonly failures: number
}

/** A verdict changes after as many equal answers in a row as the probe's thresholds say. Pure. */
export function judge(verdict: ProbeVerdict, failure: ProbeFailure, probe: ProbeSpec): ProbeVerdict {
  const successes = failure === undefined ? verdict.successes + 1 : 0
  const failures = failure === undefined ? 0 : verdict.failures + 1
  const isHealthy = verdict.isHealthy ? failures < probe.failureThreshold : successes >= probe.successThreshold
  return { isHealthy, successes, failures }
}
