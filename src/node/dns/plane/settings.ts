import type { Run } from '../../../host/index.ts'
import type { Cidr, Ip } from '../../../model/ip.ts'
import type { Logger, Tracer } from '../../../observe/index.ts'
import type { AppliedRevisions, LiveNodeState } from '../../state/index.ts'

export interface DnsSettings {
  /** The addresses of the cluster's DNS. */
  readonly clusterDns: readonly Ip[]
  readonly clusterDomain: string
  /** The file that configures DNS; undefined is the ConfigMap, or the built-in Corefile. */
  readonly corefile: string | undefined
  /** Files of the node that a Corefile of the ConfigMap may name. */
  readonly dnsConfigMapFiles?: readonly string[] | undefined
  /** The address at which other nodes reach this one; read at each check of the configuration. */
  readonly nodeAddress: Ip | undefined
  readonly clusterCidrs: readonly Cidr[]
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface DnsPlaneParts {
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly settings: DnsSettings
  /** Starts `ip` for the addresses of the cluster's DNS; `runProgram` by default. */
  readonly run?: Run
  /** The metrics of the process in text; the metrics endpoint has them after those of DNS. */
  readonly processMetrics?: () => Promise<string>
  readonly log: Logger
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer
}
