import { constants } from 'node:os'
import {
  deleteFlowsBetween,
  deleteFlowsOf,
  type FlowEnds,
  listFlowEnds,
  type NetfilterSocket,
  type Run,
} from '../../host/index.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { Ip, IpFamily } from '../../model/ip.ts'
import { encodeConnectionList, type ListedConnection, readConnection } from '../../netfilter/conntrack-messages.ts'
import type { NetlinkMessage } from '../../netfilter/netlink.ts'

/** One connection by its deletion; without a deletion all connections between the ends. */
export interface TrackedFlow extends FlowEnds {
  readonly deletion?: NetlinkMessage | undefined
}

export interface TrackedFlowsParts {
  readonly family: IpFamily
  readonly run: Run
  /** In the network namespace in which `run` starts programs; without it `conntrack` lists and deletes everything. */
  readonly socket?: Pick<NetfilterSocket, 'list' | 'request'> | undefined
}

/**
 * The connections of one family that the kernel tracks. The socket lists and deletes single ones; the program `conntrack`, which
 * lists the table once for each deletion, does what the kernel does not confirm.
 */
export class TrackedFlows {
  readonly #parts: TrackedFlowsParts

  constructor(parts: TrackedFlowsParts) {
    this.#parts = parts
  }

  /** Lists all of the family, or those that these addresses opened. Throws ExecError. */
  async list(from?: readonly Ip[]): Promise<readonly TrackedFlow[]> {
    const { family, run } = this.#parts
    const opened = from && new Set(from)
    const listed = await this.#listBySocket(({ source }) => opened?.has(source) ?? true)
    return listed ?? listFlowEnds(family, { from, run })
  }

  /** Deletes these; one that is gone is no error. Throws ExecError. */
  async remove(flows: readonly TrackedFlow[]): Promise<void> {
    const left = flows.filter((flow) => !this.#removeBySocket(flow))
    await deleteFlowsBetween(left, this.#parts.run)
  }

  /** Deletes every connection in which one of the addresses sends or answers. Throws ExecError. */
  async removeOf(addresses: readonly Ip[]): Promise<void> {
    const own = new Set(addresses)
    const slice = new TimeSlice()
    const listed = await this.#listBySocket(
      ({ source, destination, replySource }) => own.has(source) || own.has(destination) || own.has(replySource),
    )
    let areRemoved = listed !== undefined
    for (const flow of listed ?? []) {
      if (!this.#removeBySocket(flow)) areRemoved = false
      if (slice.spent) await slice.pause()
    }
    if (!areRemoved) await deleteFlowsOf(addresses, this.#parts.run)
  }

  async #listBySocket(isWanted: (connection: ListedConnection) => boolean): Promise<TrackedFlow[] | undefined> {
    const { family, socket } = this.#parts
    const found: TrackedFlow[] = []
    const take = (payload: Buffer) => {
      const connection = readConnection(payload)
      if (connection !== undefined && isWanted(connection)) found.push(connection)
      return connection !== undefined
    }
    const end = await socket?.list(encodeConnectionList(family), take)
    return end === 'complete' ? found : undefined
  }

  #removeBySocket({ deletion }: TrackedFlow): boolean {
    const { socket } = this.#parts
    return socket !== undefined && deletion !== undefined && socket.request(deletion, constants.errno.ENOENT)
  }
}
