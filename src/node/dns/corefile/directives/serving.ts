import { dnsMetricsPort } from '../../../../model/dns-ports.ts'
import { type Cidr, hostCidr, parseCidr, parseIp } from '../../../../model/ip.ts'
import type { Directive } from '../blocks.ts'
import { CorefileError } from '../errors.ts'
import type { Token } from '../lexer.ts'
import type {
  BindSettings,
  HealthSettings,
  LoadbalanceSettings,
  PrometheusSettings,
  ReadySettings,
  ReloadSettings,
} from '../settings.ts'
import {
  badValue,
  locationOf,
  readArg,
  readArgs,
  readChoice,
  readDuration,
  readOptions,
  refuseOptions,
} from '../values.ts'
import { readEndpointAddress } from '../zones.ts'

const healthPort = 8080
const readyPort = 8181
const defaultReload = { intervalMs: 30_000, jitterMs: 15_000 }
const leastIntervalMs = 2000
const leastJitterMs = 1000

/** `health [ADDRESS] { lameduck DURATION }` */
export function readHealth(directive: Directive): HealthSettings {
  const [address] = readArgs(directive, 0, 1)
  let lameduckMs = 0
  readOptions(directive, {
    lameduck: (option) => {
      lameduckMs = readDuration(readArg(option))
    },
  })
  return { listen: readEndpointAddress(address, healthPort), lameduckMs }
}

/** `ready [ADDRESS] { monitor until-ready|continuously }` */
export function readReady(directive: Directive): ReadySettings {
  const [address] = readArgs(directive, 0, 1)
  let monitor: ReadySettings['monitor'] = 'until-ready'
  readOptions(directive, {
    monitor: (option) => {
      monitor = readChoice(readArg(option), ['until-ready', 'continuously'])
    },
  })
  return { listen: readEndpointAddress(address, readyPort), monitor }
}

/** `prometheus [ADDRESS] { runtime_metrics }`; the process's own metrics are told in any case. */
export function readPrometheus(directive: Directive): PrometheusSettings {
  const [address] = readArgs(directive, 0, 1)
  readOptions(directive, { runtime_metrics: (option) => void readArgs(option, 0) })
  return { listen: readEndpointAddress(address, dnsMetricsPort) }
}

/** `loop` */
export function readLoop(directive: Directive): true {
  readArgs(directive, 0)
  refuseOptions(directive)
  return true
}

/** `reload [INTERVAL] [JITTER]`; more jitter than half the interval is half of it. */
export function readReload(directive: Directive): ReloadSettings {
  const [interval, jitter] = readArgs(directive, 0, 2)
  refuseOptions(directive)
  const intervalMs =
    interval === undefined ? defaultReload.intervalMs : readDuration(interval, { min: leastIntervalMs })
  const wantedMs = jitter === undefined ? defaultReload.jitterMs : readDuration(jitter)
  if (jitter !== undefined && wantedMs !== 0 && wantedMs < leastJitterMs) {
    throw badValue(jitter, 'a jitter of 0, or of 1s at least')
  }
  return { intervalMs, jitterMs: Math.min(wantedMs, intervalMs / 2) }
}

/** `bind ADDRESS|LINK … { except ADDRESS|LINK … }` */
export function readBind(directive: Directive): BindSettings {
  const except: string[] = []
  readOptions(directive, {
    except: (option) => except.push(...readArgs(option, 1, Number.POSITIVE_INFINITY).map(readAddressOrLink)),
  })
  return { addresses: readArgs(directive, 1, Number.POSITIVE_INFINITY).map(readAddressOrLink), except }
}

/** Names of links have 15 bytes at most, and neither slash nor blank. */
function readAddressOrLink(token: Token): string {
  if (parseIp(token.text) === undefined && !/^[^\s/:]{1,15}$/.test(token.text)) {
    throw badValue(token, 'an address or the name of a link')
  }
  return token.text
}

/** `loadbalance [round_robin | weighted FILE] { reload DURATION; prefer CIDR… }` */
export function readLoadbalance(directive: Directive): LoadbalanceSettings {
  const [policyToken, file] = readArgs(directive, 0, 2)
  const policy = policyToken === undefined ? 'round_robin' : readChoice(policyToken, ['round_robin', 'weighted'])
  if ((policy === 'weighted') !== (file !== undefined)) {
    throw new CorefileError('bad-value', directive.name, 'loadbalance: weighted needs a file, round_robin takes none')
  }
  let reloadMs = defaultReload.intervalMs
  const prefer: Cidr[] = []
  readOptions(directive, {
    ...(policy === 'weighted' && {
      reload: (option: Directive) => {
        reloadMs = readDuration(readArg(option))
      },
    }),
    prefer: (option) => prefer.push(...readArgs(option, 1, Number.POSITIVE_INFINITY).map(readNetwork)),
  })
  return {
    policy,
    location: locationOf(directive.name),
    ...(file !== undefined && { file: file.text }),
    reloadMs,
    prefer,
  }
}

function readNetwork(token: Token): Cidr {
  const ip = parseIp(token.text)
  const cidr = ip === undefined ? parseCidr(token.text) : hostCidr(ip)
  if (cidr === undefined) throw badValue(token, 'a network (address/prefix)')
  return cidr
}
