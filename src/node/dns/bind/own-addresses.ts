import { networkInterfaces } from 'node:os'
import { addHostAddress, createDummyLink, deleteLink, removeHostAddress } from '../../../host/index.ts'
import { describeError } from '../../../model/errors.ts'
import { type Ip, parseIp } from '../../../model/ip.ts'
import type { Logger } from '../../../observe/index.ts'

const ownLink = { name: 'plt-dns' }
const loopback = { name: 'lo' }

/**
 * The addresses of the cluster's DNS on this node: on a dummy link of our own where the kernel has that kind, else on `lo`. What a crash
 * left behind is taken over.
 */
export class OwnAddresses {
  readonly #addresses: readonly Ip[]
  readonly #log: Logger

  constructor(addresses: readonly Ip[], log: Logger) {
    this.#addresses = addresses
    this.#log = log
  }

  /** Throws ExecError where this process may not. */
  async bind(): Promise<void> {
    const missing = this.#addresses.filter((address) => findLinkOf(address) === undefined)
    if (missing.length === 0) return
    const link = await this.#chooseLink()
    for (const address of missing) await addHostAddress(link, address)
    this.#log.info('the addresses of the cluster DNS are on this node', { addresses: missing, link: link.name })
  }

  /** For a clean stop: takes the addresses away again; what is gone already is fine. */
  async release(): Promise<void> {
    if (networkInterfaces()[ownLink.name] !== undefined) return deleteLink(ownLink)
    for (const address of this.#addresses)
      if (findLinkOf(address) === loopback.name) await removeHostAddress(loopback, address)
  }

  async #chooseLink(): Promise<{ readonly name: string }> {
    if (networkInterfaces()[ownLink.name] !== undefined) return ownLink
    try {
      await createDummyLink(ownLink)
      return ownLink
    } catch (error) {
      this.#log.debug('no dummy link here, the loopback carries the address', { error: describeError(error) })
      return loopback
    }
  }
}

/** The name of the interface that has the address, whoever gave it. */
function findLinkOf(address: Ip): string | undefined {
  const links = Object.entries(networkInterfaces())
  return links.find(([, held]) => held?.some((one) => parseIp(one.address) === address))?.[0]
}
