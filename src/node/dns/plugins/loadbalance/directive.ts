import { type Cidr, hostCidr, parseCidr, parseIp } from '../../../../model/ip.ts'
import type { Directive } from '../../corefile/blocks.ts'
import { CorefileError } from '../../corefile/errors.ts'
import type { Token } from '../../corefile/lexer.ts'
import {
  badValue,
  locationOf,
  type OptionReaders,
  readArg,
  readArgs,
  readChoice,
  readDuration,
  readManyArgs,
  readOptions,
} from '../../corefile/values.ts'
import type { LoadbalanceSettings } from './settings.ts'

type LoadbalanceOptions = Pick<LoadbalanceSettings, 'reloadMs' | 'prefer'>

const defaults: LoadbalanceOptions = { reloadMs: 30_000, prefer: [] }

const options: OptionReaders<LoadbalanceOptions> = {
  prefer: { list: 'prefer', read: (option) => readManyArgs(option).map(readNetwork) },
}

const weightedOptions: OptionReaders<LoadbalanceOptions> = {
  reload: (option) => ({ reloadMs: readDuration(readArg(option)) }),
}

/** Reads `loadbalance [round_robin | weighted FILE] { reload DURATION; prefer CIDR… }`. */
export function readLoadbalance(directive: Directive): LoadbalanceSettings {
  const [policyToken, file] = readArgs(directive, 0, 2)
  const policy = policyToken === undefined ? 'round_robin' : readChoice(policyToken, ['round_robin', 'weighted'])
  if ((policy === 'weighted') !== (file !== undefined)) {
    throw new CorefileError('bad-value', directive.name, 'loadbalance: weighted needs a file, round_robin takes none')
  }
  const settings = readOptions(
    directive,
    defaults,
    policy === 'weighted' ? { ...options, ...weightedOptions } : options,
  )
  return {
    policy,
    location: locationOf(directive.name),
    ...(file !== undefined && { file: file.text }),
    ...settings,
  }
}

function readNetwork(token: Token): Cidr {
  const ip = parseIp(token.text)
  const cidr = ip === undefined ? parseCidr(token.text) : hostCidr(ip)
  if (cidr === undefined) throw badValue(token, 'a network (address/prefix)')
  return cidr
}
