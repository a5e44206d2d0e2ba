import type { Ip } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import type { CniRuntime, CniSandbox, StallReason } from '../cni/index.ts'
import { PodError } from './errors.ts'
import type { PodNetwork } from './runtime.ts'

/** Attaches pods by the CNI plugins of this node. */
export class CniNetwork implements PodNetwork {
  readonly #cni: CniRuntime
  readonly #log: Logger

  constructor(cni: CniRuntime, log: Logger) {
    this.#cni = cni
    this.#log = log
  }

  async attach(sandbox: CniSandbox): Promise<readonly Ip[]> {
    const { ips } = await this.#cni.add(sandbox)
    if (ips.length > 0) return ips.map(({ ip }) => ip)
    await this.#cni.del(sandbox)
    throw new PodError('no-address', 'the plugins of the default network gave the pod no address', {
      object: `Pod ${sandbox.podNamespace}/${sandbox.podName}`,
      remedy:
        'put a list whose plugin has "ipam" first in lexical order; "platnet cni list" shows the list that pods get',
    })
  }

  async detach(sandbox: CniSandbox): Promise<void> {
    await this.#cni.del(sandbox)
  }

  stallReasonOf({ containerId }: CniSandbox): StallReason | undefined {
    return this.#cni.stallReasonOf(containerId)
  }

  async isAttached(sandbox: CniSandbox): Promise<boolean> {
    return this.#cni.isRemembered(sandbox)
  }

  async collect(live: readonly CniSandbox[]): Promise<void> {
    const { deleted, errors } = await this.#cni.garbage.collect(live)
    for (const attachment of deleted)
      this.#log.info('the network attachment of a pod that is gone is removed', { attachment })
    for (const error of errors)
      this.#log.warn('the network attachment of a pod that is gone could not be removed', { error })
  }
}
