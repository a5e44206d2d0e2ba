import type { Cidr } from '../../../model/ip.ts'
import type { ListenAddress } from '../plugins/client.ts'
import type { ServedBlock } from '../plugins/served-block.ts'

/** The configuration of a serving thread; plain data. */
export interface ServingSettings {
  readonly blocks: readonly ServedBlock[]
  readonly addresses: readonly ListenAddress[]
  /** The sources that are answered on addresses with the access `cluster`. */
  readonly clusterSources: readonly Cidr[]
  /** How many connections one thread has open at the same time. */
  readonly maxConnections: number
}
