import { dnsPort } from '../../../../model/dns-ports.ts'
import { type Ip, parseIp } from '../../../../model/ip.ts'
import type { Directive } from '../../corefile/blocks.ts'
import { CorefileError } from '../../corefile/errors.ts'
import type { Token } from '../../corefile/lexer.ts'
import {
  badValue,
  flagOption,
  locationOf,
  type OptionReaders,
  readArg,
  readArgs,
  readChoice,
  readDuration,
  readInteger,
  readManyArgs,
  readOptions,
  readWait,
} from '../../corefile/values.ts'
import { readZone, readZones } from '../../corefile/zones.ts'
import { rcode, rcodeCode } from '../../wire/codes.ts'
import type { ForwardPlugin, ForwardTarget } from './settings.ts'

const tlsPort = 853
const maxTargets = 15
const many = Number.POSITIVE_INFINITY
/** The least interval of health checks, so that an upstream that refuses at once is not probed in a busy loop. */
const minProbeMs = 50
const policies = ['random', 'round_robin', 'sequential'] as const

/** Reads `forward FROM TO… { … }`. A network in place of FROM becomes several rules. */
export function readForward(directive: Directive): readonly ForwardPlugin[] {
  const [from, ...to] = readArgs(directive, 2, many)
  if (from === undefined) throw badValue(directive.name, 'a zone and where to send to')
  if (to.length > maxTargets) throw badValue(directive.name, `at most ${maxTargets} servers`)
  const targets = to.map(readTarget)
  const options = readForwardOptions(directive)
  if (options.maxAgeMs > 0 && options.maxAgeMs < options.expireMs)
    throw badValue(directive.name, 'a max_age that is not below expire')
  const named = targets.find((target) => target.kind === 'address' && target.serverName !== undefined)
  if (named !== undefined && options.tls?.serverName !== undefined)
    throw new CorefileError(
      'conflict',
      directive.name,
      'forward: tls_servername and a name behind % exclude each other',
    )
  return readZones(from).map((zone) => ({ ...options, from: zone, to: targets }))
}

/** Reads `ADDRESS[:PORT]`, `tls://ADDRESS[%NAME][:PORT]`, or the path of a file with `nameserver` lines. */
function readTarget(token: Token): ForwardTarget {
  const scheme = /^([a-z0-9]+):\/\//i.exec(token.text)?.[1]?.toLowerCase()
  if (scheme !== undefined && scheme !== 'dns' && scheme !== 'tls') {
    throw badValue(token, 'an address, dns://ADDRESS, tls://ADDRESS or a resolver file')
  }
  const rest = scheme === undefined ? token.text : token.text.slice(scheme.length + 3)
  const overTls = scheme === 'tls'
  const { where, serverName } = overTls ? splitServerName(rest) : { where: rest }
  const parsed = readHostPort(where, overTls ? tlsPort : dnsPort)
  if (parsed !== undefined && serverName !== undefined && !isHostName(serverName))
    throw badValue(token, 'the name of a server behind %')
  if (parsed !== undefined)
    return { kind: 'address', ...parsed, overTls, ...(serverName !== undefined && { serverName }) }
  if (scheme === undefined && rest.includes('/')) return { kind: 'file', path: rest }
  throw badValue(token, 'an address with or without port, or the path of a resolver file')
}

/**
 * Splits off the server name. It stands before the port, inside the brackets or behind them, or at the end: `A%NAME:P`, `[A%NAME]:P`,
 * `[A]%NAME:P`, `A:P%NAME`.
 */
function splitServerName(text: string): { readonly where: string; readonly serverName?: string } {
  const at = text.lastIndexOf('%')
  if (at === -1) return { where: text }
  const [, serverName = '', bracket = '', port = ''] = /^([^:\]]*)(\]?)(:\d+)?$/.exec(text.slice(at + 1)) ?? []
  return { where: `${text.slice(0, at)}${bracket}${port}`, serverName }
}

function isHostName(text: string): boolean {
  return /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*\.?$/i.test(text)
}

function readHostPort(text: string, defaultPort: number): { address: Ip; port: number } | undefined {
  const whole = parseIp(text.replace(/^\[(.*)\]$/, '$1'))
  if (whole !== undefined) return { address: whole, port: defaultPort }
  const [, host, port] = /^\[?(.*?)\]?:(\d{1,5})$/.exec(text) ?? []
  const address = host === undefined ? undefined : parseIp(host)
  if (address === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined
  return { address, port: Number(port) }
}

type ForwardOptions = Omit<ForwardPlugin, 'from' | 'to'>

const defaults: Omit<ForwardOptions, 'location'> = {
  except: [],
  policy: 'random',
  forceTcp: false,
  preferUdp: false,
  expireMs: 10_000,
  maxAgeMs: 0,
  maxIdleConnections: 0,
  readTimeoutMs: 2000,
  maxFails: 2,
  healthCheck: { intervalMs: 500, recursion: true, domain: '.' },
  maxConcurrent: undefined,
  failover: [],
  failfastAllUnhealthy: false,
  next: [],
  nextOnNodata: false,
}

const options: OptionReaders<ForwardOptions> = {
  except: { list: 'except', read: (option) => readManyArgs(option).flatMap(readZones) },
  expire: (option) => ({ expireMs: readWait(readArg(option), { minMs: 1 }) }),
  failfast_all_unhealthy_upstreams: flagOption({ failfastAllUnhealthy: true }),
  failover: (option) => ({ failover: readFailover(option) }),
  force_tcp: flagOption({ forceTcp: true }),
  health_check: (option) => ({ healthCheck: readHealthCheck(option) }),
  max_age: (option) => ({ maxAgeMs: readDuration(readArg(option)) }),
  max_concurrent: (option) => ({ maxConcurrent: readInteger(readArg(option)) || undefined }),
  max_connect_attempts: (option) => ({ maxConnectAttempts: readInteger(readArg(option)) }),
  max_fails: (option) => ({ maxFails: readInteger(readArg(option)) }),
  max_idle_conns: (option) => ({ maxIdleConnections: readInteger(readArg(option)) }),
  next: (option) => ({ next: readRcodes(option) }),
  next_on_nodata: flagOption({ nextOnNodata: true }),
  policy: (option) => ({ policy: readChoice(readArg(option), policies) }),
  prefer_udp: flagOption({ preferUdp: true }),
  read_timeout: (option) => ({ readTimeoutMs: readPositive(readArg(option)) }),
  source_address: (option) => ({ sourceAddress: readAddress(readArg(option)) }),
  tls: (option, { tls }) => ({ tls: { ...tls, ...readTls(option), location: locationOf(option.name) } }),
  tls_servername: (option, { tls }) => {
    return { tls: { location: locationOf(option.name), ...tls, serverName: readArg(option).text } }
  },
}

function readForwardOptions(directive: Directive): ForwardOptions {
  const settings = readOptions(directive, { ...defaults, location: locationOf(directive.name) }, options)
  return settings.forceTcp ? { ...settings, preferUdp: false } : settings
}

function readPositive(token: Token): number {
  if (readDuration(token) === 0) throw badValue(token, 'a duration above 0')
  return readWait(token, { minMs: 1 })
}

function readAddress(token: Token): Ip {
  const address = parseIp(token.text)
  if (address === undefined) throw badValue(token, 'an address')
  return address
}

/** Reads `tls`: no file is the system's authorities, one file an authority, two a certificate and its key, three all of them. */
function readTls(option: Directive) {
  const [first, second, third] = readArgs(option, 0, 3).map(({ text }) => text)
  if (first === undefined) return {}
  if (second === undefined) return { authority: first }
  return { certificate: first, key: second, ...(third !== undefined && { authority: third }) }
}

/** Reads `health_check DURATION [no_rec] [domain NAME]`. */
function readHealthCheck(option: Directive): ForwardOptions['healthCheck'] {
  const [interval, ...rest] = readArgs(option, 1, 4)
  const intervalMs = readWait(interval ?? option.name, { minMs: minProbeMs })
  let recursion = true
  let domain = '.'
  for (let at = 0; at < rest.length; at++) {
    const token = rest[at] ?? option.name
    if (readChoice(token, ['no_rec', 'domain']) === 'no_rec') recursion = false
    else {
      at += 1
      const name = rest[at]
      if (name === undefined) throw badValue(token, 'a name after domain')
      readZone(name)
      domain = name.text
    }
  }
  return { intervalMs, recursion, domain }
}

function readFailover(option: Directive): readonly number[] {
  const codes = readRcodes(option)
  if (codes.includes(rcode.NOERROR)) throw badValue(option.name, 'no NOERROR: that is an answer')
  return codes
}

function readRcodes(option: Directive): readonly number[] {
  return readManyArgs(option).map((token) => {
    const code = rcodeCode(token.text)
    if (code === undefined) throw badValue(token, 'an rcode like SERVFAIL')
    return code
  })
}
