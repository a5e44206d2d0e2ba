import type { Directive } from '../../corefile/blocks.ts'
import { readArg, readArgs, readChoice, readOptions } from '../../corefile/values.ts'
import { type EndpointAddress, readEndpointAddress } from '../../corefile/zones.ts'

const readyPort = 8181

export interface ReadySettings {
  readonly listen: EndpointAddress
  readonly monitor: 'until-ready' | 'continuously'
}

/** Reads `ready [ADDRESS] { monitor until-ready|continuously }`. */
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
