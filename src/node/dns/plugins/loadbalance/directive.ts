import { type Cidr, hostCidr, parseCidr, parseIp } from '../../../../model/ip.ts'
import type { Directive } from '../../corefile/blocks.ts'
import { CorefileError } from '../../corefile/errors.ts'
import type { Token } from '../../corefile/lexer.ts'
import {
  badValue,
  locationOf,
  readArg,
  readArgs,
  readChoice,
  readDuration,
  readOptions,
} from '../../corefile/values.ts'
import type { LoadbalanceSettings } from './settings.ts'

const defaultReloadMs = 30_000

/** Reads `loadbalance [round_robin | weighted FILE] { reload DURATION; prefer CIDR… }`. */
export function readLoadbalance(directive: Directive): LoadbalanceSettings {
  const [policyToken, file] = readArgs(directive, 0, 2)
  const policy = policyToken === undefined ? 'round_robin' : readChoice(policyToken, ['round_robin', 'weighted'])
  if ((policy === 'weighted') !== (file !== undefined)) {
    throw new CorefileError('bad-value', directive.name, 'loadbalance: weighted needs a file, round_robin takes none')
  }
  let reloadMs = defaultReloadMs
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
