import type { JsonObject } from '../../model/api-object.ts'
import type { Attachment } from './result-cache.ts'
import { capabilityArguments, cniArguments } from './sandbox-arguments.ts'
import type { CniSandbox, Network } from './types.ts'

/** Builds the cache entry of an ADD that begins: the sandbox, and the network with its configuration as text. */
export function beginAttachment(sandbox: CniSandbox, network: Network): Attachment {
  const config: JsonObject = { ...network.json, cniVersion: network.cniVersion }
  return {
    network: network.name,
    containerId: sandbox.containerId,
    ifName: sandbox.ifName,
    netnsPath: sandbox.netnsPath,
    config: JSON.stringify(config),
    cniArgs: cniArguments(sandbox),
    capabilityArgs: capabilityArguments(sandbox),
    isOurs: true,
  }
}
