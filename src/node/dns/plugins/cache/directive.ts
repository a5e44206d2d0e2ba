import type { Directive } from '../../corefile/blocks.ts'
import type { Token } from '../../corefile/lexer.ts'
import {
  badValue,
  flagOption,
  type OptionReaders,
  readArg,
  readArgs,
  readChoice,
  readDuration,
  readInteger,
  readManyArgs,
  readOptions,
  readWait,
  unknownOption,
} from '../../corefile/values.ts'
import type { ServerKey } from '../../corefile/zones.ts'
import { zonesOr } from '../../corefile/zones.ts'
import type { WireName } from '../../wire/name.ts'
import type { CachePlugin, CacheSettings, CacheSide, ServeStale } from './settings.ts'

const defaultCapacity = 9984
const maxServfailMs = 300_000

interface CacheOptions extends CacheSettings {
  /** The last `serve_stale_policy`. */
  readonly policy: Directive | undefined
}

/** Reads `cache [TTL] [ZONES…] { … }`. TTLs of upstreams are honoured down to 0 where no minimum is written. */
export function readCache(directive: Directive, keys: readonly ServerKey[]): CachePlugin {
  const [first] = directive.args
  const hasTtl = first !== undefined && /^[+-]?\d+$/.test(first.text)
  const ttl = hasTtl ? readInteger(first, { min: 1 }) : undefined
  const zones = zonesOr(hasTtl ? directive.args.slice(1) : directive.args, keys)
  const { policy, ...settings } = readOptions<CacheOptions>(directive, defaults(ttl), {
    ...options,
    disable: (option, before) =>
      disable(option, before, (names) => (names.length === 0 ? zones : zonesOr(names, keys))),
  })
  if (policy === undefined) return { zones, settings }
  if (settings.serveStale === undefined) throw badValue(policy.name, 'serve_stale beside it')
  return { zones, settings: { ...settings, serveStale: { ...settings.serveStale, prefersPositive: true } } }
}

function defaults(ttl: number | undefined): CacheOptions {
  return {
    success: side(ttl ?? 3600),
    denial: side(ttl ?? 1800),
    prefetch: undefined,
    serveStale: undefined,
    servfailMs: 5000,
    keepTtl: false,
    policy: undefined,
  }
}

const options: OptionReaders<CacheOptions> = {
  denial: (option, { denial }) => ({ denial: readSide(option, denial) }),
  keepttl: flagOption({ keepTtl: true }),
  prefetch: (option) => ({ prefetch: readPrefetch(option) }),
  serve_stale: (option) => ({ serveStale: readServeStale(option) }),
  serve_stale_policy: (option) => {
    readChoice(lowerCase(readArg(option)), ['prefer_positive'])
    return { policy: option }
  },
  servfail: (option) => ({ servfailMs: readDuration(readArg(option), { max: maxServfailMs }) }),
  success: (option, { success }) => ({ success: readSide(option, success) }),
}

/** Reads `disable success|denial [ZONES…]`. */
function disable(
  option: Directive,
  before: CacheSettings,
  zonesOf: (names: readonly Token[]) => readonly WireName[],
): Partial<CacheOptions> {
  const [which, ...names] = readManyArgs(option)
  const zones = zonesOf(names)
  const name = readChoice(which ?? option.name, ['success', 'denial'])
  return { [name]: { ...before[name], disabledZones: [...before[name].disabledZones, ...zones] } }
}

function side(maxTtlSeconds: number): CacheSide {
  return { capacity: defaultCapacity, maxTtlSeconds, minTtlSeconds: 0, disabledZones: [] }
}

/** Reads `CAPACITY [TTL] [MINTTL]`. */
function readSide(option: Directive, before: CacheSide): CacheSide {
  const [capacity, ttl, minTtl] = readArgs(option, 1, 3)
  return {
    ...before,
    capacity: capacity === undefined ? before.capacity : readInteger(capacity),
    ...(ttl !== undefined && { maxTtlSeconds: readInteger(ttl, { min: 1 }) }),
    ...(minTtl !== undefined && { minTtlSeconds: readInteger(minTtl) }),
  }
}

/** Reads `AMOUNT [DURATION [PERCENTAGE%]]`. */
function readPrefetch(option: Directive): CacheSettings['prefetch'] {
  const [amount, within, percentage] = readArgs(option, 1, 3)
  const digits = percentage === undefined ? '10' : /^\+?0*(\d{1,2})%$/.exec(percentage.text)?.[1]
  if (digits === undefined || Number(digits) < 10 || Number(digits) > 90) {
    throw badValue(percentage ?? option.name, 'a percentage from 10% to 90%')
  }
  return {
    amount: readInteger(amount ?? option.name),
    withinMs: within === undefined ? 60_000 : readDuration(within),
    percentage: Number(digits),
  }
}

const maxRecheckMs = 300_000
const maxTtl = 0xffff_ffff

/** Reads `[DURATION] [immediate [TTL [RECHECK]] | verify [TIMEOUT [TTL [RECHECK]]]]`. */
function readServeStale(option: Directive): ServeStale {
  const [forHowLong, modeToken, ...rest] = readArgs(option, 0, 5)
  const mode = modeToken === undefined ? 'immediate' : readChoice(lowerCase(modeToken), ['immediate', 'verify'])
  const [timeout, ttl, recheck, extra] = mode === 'verify' ? rest : [undefined, ...rest]
  if (extra !== undefined) throw unknownOption({ ...option, name: extra }, 'cache')
  return {
    forMs: forHowLong === undefined ? 3_600_000 : readDuration(forHowLong),
    mode,
    verifyTimeoutMs: timeout === undefined ? 0 : readWait(timeout),
    ttlSeconds: ttl === undefined ? 0 : readWholeSeconds(ttl),
    recheckMs: recheck === undefined ? 0 : readDuration(recheck, { max: maxRecheckMs }),
    prefersPositive: false,
  }
}

function readWholeSeconds(token: Token): number {
  const seconds = readDuration(token) / 1000
  if (!Number.isInteger(seconds) || seconds > maxTtl) throw badValue(token, 'whole seconds, as a TTL has them')
  return seconds
}

function lowerCase(token: Token): Token {
  return { ...token, text: token.text.toLowerCase() }
}
