import type { Directive } from '../../corefile/blocks.ts'
import { type OptionReaders, readArg, readArgs, readDuration, readOptions } from '../../corefile/values.ts'
import { type EndpointAddress, readEndpointAddress } from '../../corefile/zones.ts'

const healthPort = 8080

export interface HealthSettings {
  readonly listen: EndpointAddress
  readonly lameduckMs: number
}

const options: OptionReaders<Pick<HealthSettings, 'lameduckMs'>> = {
  lameduck: (option) => ({ lameduckMs: readDuration(readArg(option)) }),
}

/** Reads `health [ADDRESS] { lameduck DURATION }`. */
export function readHealth(directive: Directive): HealthSettings {
  const [address] = readArgs(directive, 0, 1)
  const settings = readOptions(directive, { lameduckMs: 0 }, options)
  return { listen: readEndpointAddress(address, healthPort), ...settings }
}
