import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import type { Ip } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import { reachableAddresses } from './cluster-files.ts'
import { followNodeAddress } from './node-address.ts'

const intervalMs = 10_000

/** The addresses of this machine that certificates and endpoints depend on. */
interface MachineAddresses {
  /** The address at which nodes reach this machine. */
  readonly advertised: Ip | undefined
  /** The addresses that certificates must name. */
  readonly reachable: readonly Ip[]
}

/** Returns what looks at the addresses of this machine, for a listener on all of them. */
export function machineLook(bindAddress: Ip): () => MachineAddresses {
  const advertised = followNodeAddress({ nodeIp: undefined })
  return () => ({ advertised: advertised(), reachable: reachableAddresses(bindAddress) })
}

export interface FollowedMachine {
  readonly look: () => MachineAddresses
  /** The addresses of which the present certificate and endpoints were made. */
  readonly since: MachineAddresses
  /** Called before `onAdvertised` when the machine has an address that it did not have. */
  readonly onReachable: () => Promise<void>
  /** Called with the address at which nodes reach this machine when that is another one. */
  readonly onAdvertised?: (address: Ip) => Promise<void>
  readonly log: Logger
  readonly intervalMs?: number
}

/** Looks every ten seconds which addresses this machine has. What failed is done again at the next look. */
export function followAddresses({ look, since, onReachable, onAdvertised, log, ...parts }: FollowedMachine): Periodic {
  let seen = since
  const compare = async () => {
    const now = look()
    if (now.reachable.some((ip) => !seen.reachable.includes(ip))) await onReachable()
    const { advertised } = now
    if (advertised !== undefined && advertised !== seen.advertised) await onAdvertised?.(advertised)
    seen = now
  }
  const periodic = new Periodic(compare, {
    intervalMs: parts.intervalMs ?? intervalMs,
    onError: (error) =>
      log.warn('new addresses of this machine are not in use yet; the next attempt follows', { error }),
  })
  periodic.start()
  return periodic
}

/** A listener on all addresses, whose certificate names those that the machine has. */
export class FollowingListener implements Component {
  readonly name: string
  readonly #listener: Component
  readonly #follow: () => Periodic
  #addresses: Periodic | undefined

  constructor(listener: Component, follow: () => Periodic) {
    this.name = listener.name
    this.#listener = listener
    this.#follow = follow
  }

  async start(scope: { signal: AbortSignal }): Promise<void> {
    await this.#listener.start(scope)
    this.#addresses = this.#follow()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#addresses?.stop(scope)
    await this.#listener.stop(scope)
  }

  health(): Health {
    return this.#listener.health()
  }
}
