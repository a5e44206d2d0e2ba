import { networkInterfaces } from 'node:os'
import {
  addHostAddress,
  createDummyLink,
  deleteLink,
  type Run,
  removeHostAddress,
  removeLocalSource,
  setLinkUp,
  setLocalSource,
} from '../../../host/index.ts'
import { describeError } from '../../../model/errors.ts'
import { type Ip, ipFamily, parseIp } from '../../../model/ip.ts'
import type { Logger } from '../../../observe/index.ts'

const dummyLink = { name: 'plt-dns' }
const loopback = { name: 'lo' }

/**
 * Assigns the addresses of the cluster's DNS to this node: to a dummy link of its own where the kernel has that kind, else to `lo`. Addresses that a
 * crashed process left are taken over.
 */
export class ClusterDnsAddresses {
  readonly #addresses: readonly Ip[]
  readonly #log: Logger
  readonly #run: Run | undefined

  /** `run` starts `ip`; `runProgram` by default. */
  constructor(addresses: readonly Ip[], log: Logger, run?: Run) {
    this.#addresses = addresses
    this.#log = log
    this.#run = run
  }

  /** Throws ExecError where this process has no right to change links. */
  async assign(): Promise<void> {
    if (this.#missing().length === 0) return
    const link = await this.#chooseLink()
    // A link that was down has kept its addresses.
    const missing = this.#missing()
    for (const address of missing) await addHostAddress(link, address, this.#run)
    this.#log.info('the addresses of the cluster DNS are on this node', { addresses: missing, link: link.name })
  }

  /**
   * Gives queries of this node's own programs that address as their source, in place of the address that they go to. Answers that other
   * nodes or pods send to the earlier ones arrive until `remove`.
   */
  async release(source: Ip): Promise<void> {
    for (const address of this.#addresses.filter((each) => ipFamily(each) === ipFamily(source))) {
      const link = findLinkOf(address)
      if (link !== undefined) await setLocalSource({ name: link }, address, source, this.#run)
    }
  }

  /** Removes the addresses at a clean stop. One that is gone already is no error. Resolves with a line for each removal. */
  async remove(): Promise<readonly string[]> {
    if (networkInterfaces()[dummyLink.name] !== undefined) {
      await deleteLink(dummyLink, this.#run)
      return [`removed the link ${dummyLink.name} with the address of the cluster DNS`]
    }
    const held = this.#addresses.filter((address) => findLinkOf(address) === loopback.name)
    for (const address of held) {
      await removeHostAddress(loopback, address, this.#run)
      // Only there after `release`, and then it outlives the address.
      await removeLocalSource(loopback, address, this.#run).catch(() => {})
    }
    return held.map((address) => `removed the address ${address} from ${loopback.name}`)
  }

  #missing(): readonly Ip[] {
    return this.#addresses.filter((address) => findLinkOf(address) === undefined)
  }

  async #chooseLink(): Promise<{ readonly name: string }> {
    if (networkInterfaces()[dummyLink.name] !== undefined) return dummyLink
    try {
      await createDummyLink(dummyLink, this.#run)
      return dummyLink
    } catch (error) {
      // A link that is down, or has lost its addresses, is there and not among the interfaces.
      const isThere = await setLinkUp(dummyLink, this.#run).then(
        () => true,
        () => false,
      )
      if (isThere) return dummyLink
      this.#log.debug('there can be no dummy link; lo gets the address', { error: describeError(error) })
      return loopback
    }
  }
}

/** Returns the name of the link that has the address, no matter what assigned it. */
function findLinkOf(address: Ip): string | undefined {
  const links = Object.entries(networkInterfaces())
  return links.find(([, held]) => held?.some((one) => parseIp(one.address) === address))?.[0]
}
