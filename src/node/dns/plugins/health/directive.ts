import type { Directive } from '../../corefile/blocks.ts'
import { readArg, readArgs, readDuration, readOptions } from '../../corefile/values.ts'
import { type EndpointAddress, readEndpointAddress } from '../../corefile/zones.ts'

const healthPort = 8080

export interface HealthSettings {
  readonly listen: EndpointAddress
  readonly lameduckMs: number
}

/** Reads `health [ADDRESS] { lameduck DURATION }`. */
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
