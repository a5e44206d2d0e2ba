import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect, isIPv6 } from 'node:net'
import { describeError } from '../../model/errors.ts'
import type { Ip } from '../../model/ip.ts'
import type { ContainerSpec, ProbeSpec } from './pod-spec.ts'
import type { ExecResult } from './runtime.ts'

/** The limit of requests of one probe: the first one and its redirects. */
const maxHttpRequests = 10
/** The statuses whose header `location` is followed. */
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export type ProbeKind = 'startup' | 'liveness' | 'readiness'

/** The reason of a failed probe; undefined if it succeeded. */
export type ProbeFailure = string | undefined

export interface ProbeTarget {
  /** The address of the pod. */
  readonly ip: Ip
  readonly container: ContainerSpec
  readonly exec: (command: readonly string[], timeoutMs: number) => Promise<ExecResult>
}

/** Runs a probe once. Never throws. */
export async function runProbe(probe: ProbeSpec, target: ProbeTarget): Promise<ProbeFailure> {
  const timeoutMs = probe.timeoutSeconds * 1000
  try {
    if (probe.exec) return await probeExec(probe.exec.command, timeoutMs, target)
    if (probe.httpGet) return await probeHttp(probe.httpGet, timeoutMs, target)
    if (probe.tcpSocket) return await probeTcp(probe.tcpSocket, timeoutMs, target)
    return 'the probe has none of httpGet, tcpSocket and exec'
  } catch (error) {
    return describeError(error)
  }
}

async function probeExec(command: readonly string[], timeoutMs: number, { exec }: ProbeTarget): Promise<ProbeFailure> {
  const { exitCode, output } = await exec(command, timeoutMs)
  if (exitCode === 0) return undefined
  const said = output.trim().slice(0, 200)
  return `${command[0]} exited with ${exitCode}${said === '' ? '' : `: ${said}`}`
}

/**
 * Succeeds for a status from 200 to 399. Like kubelet it follows redirects on the same host, takes a redirect to another host as success, and
 * does not verify certificates.
 */
async function probeHttp(
  { path, port, host, scheme, httpHeaders }: NonNullable<ProbeSpec['httpGet']>,
  timeoutMs: number,
  target: ProbeTarget,
): Promise<ProbeFailure> {
  const own = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]))
  const headers = { 'user-agent': 'platnet-probe', accept: '*/*', ...own }
  const signal = AbortSignal.timeout(timeoutMs)
  let current: HttpTarget = {
    protocol: scheme === 'HTTPS' ? 'https:' : 'http:',
    host: host === '' ? target.ip : host,
    port: portOf(port, target.container),
    path: path.startsWith('/') ? path : `/${path}`,
  }
  for (let sent = 0; sent < maxHttpRequests; sent++) {
    const { status, location } = await get(current, headers, signal)
    const next = redirectStatuses.has(status) ? redirected(current, location) : undefined
    if (next === undefined) return status >= 200 && status < 400 ? undefined : `the answer has the status ${status}`
    current = next
  }
  return `${maxHttpRequests} answers in a row are redirects`
}

interface HttpTarget {
  readonly protocol: 'http:' | 'https:'
  readonly host: string
  readonly port: number
  readonly path: string
}

interface HttpAnswer {
  readonly status: number
  readonly location: string | undefined
}

/** Sends a GET request and does not read the body of the answer. */
function get({ protocol, ...address }: HttpTarget, headers: Record<string, string>, signal: AbortSignal) {
  const options = { ...address, headers, agent: false as const, signal }
  return new Promise<HttpAnswer>((resolve, reject) => {
    const asked = protocol === 'https:' ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options)
    asked.once('error', reject)
    asked.once('response', (response) => {
      response.destroy()
      resolve({ status: response.statusCode ?? 0, location: response.headers.location })
    })
    asked.end()
  })
}

/** Returns the target of a redirect; undefined if it is not on the same host. */
function redirected(place: HttpTarget, location: string | undefined): HttpTarget | undefined {
  const { host, port, path } = place
  const asked = URL.parse(`${place.protocol}//${isIPv6(host) ? `[${host}]` : host}:${port}${path}`)
  if (asked === null || location === undefined) return undefined
  const url = URL.parse(location, asked)
  if (url === null || url.hostname !== asked.hostname) return undefined
  const { protocol, pathname, search } = url
  if (protocol !== 'http:' && protocol !== 'https:') return undefined
  const standardPort = protocol === 'https:' ? 443 : 80
  return { protocol, host, port: Number(url.port) || standardPort, path: `${pathname}${search}` }
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

/** Counts a result. The verdict changes after as many equal results in a row as the threshold of the probe. Pure. */
export function judge(verdict: ProbeVerdict, failure: ProbeFailure, probe: ProbeSpec): ProbeVerdict {
  const successes = failure === undefined ? verdict.successes + 1 : 0
  const failures = failure === undefined ? 0 : verdict.failures + 1
  const isHealthy = verdict.isHealthy ? failures < probe.failureThreshold : successes >= probe.successThreshold
  return { isHealthy, successes, failures }
}
