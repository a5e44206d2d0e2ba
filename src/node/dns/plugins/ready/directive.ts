import type { Directive } from '../../corefile/blocks.ts'
import { type OptionReaders, readArg, readArgs, readChoice, readOptions } from '../../corefile/values.ts'
import { type EndpointAddress, readEndpointAddress } from '../../corefile/zones.ts'

const readyPort = 8181
const monitors = ['until-ready', 'continuously'] as const

export interface ReadySettings {
  readonly listen: EndpointAddress
  readonly monitor: 'until-ready' | 'continuously'
}

const options: OptionReaders<Pick<ReadySettings, 'monitor'>> = {
  monitor: (option) => ({ monitor: readChoice(readArg(option), monitors) }),
}

/** Reads `ready [ADDRESS] { monitor until-ready|continuously }`. */
export function readReady(directive: Directive): ReadySettings {
  const [address] = readArgs(directive, 0, 1)
  const settings = readOptions(directive, { monitor: 'until-ready' }, options)
  return { listen: readEndpointAddress(address, readyPort), ...settings }
}
