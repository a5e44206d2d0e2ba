import type { Dialect } from '../../model/dialect.ts'
import type { Ip } from '../../model/ip.ts'
import type { ApiService, PodFacts } from './container-launch.ts'

/** The facts about this node that decide how a container starts. */
export interface NodeFacts {
  readonly name: string
  readonly hostIps: () => readonly [Ip, ...Ip[]]
  readonly dialect: Dialect
  /** Returns the Service of the API server for programs in pods; undefined if their environment must not have it. */
  readonly apiService: () => ApiService | undefined
  /** The folder whose own folders may be root filesystems; undefined if none may. */
  readonly rootFilesystems: string | undefined
}

/** Returns the facts for the launch of a container whose pod has these addresses. */
export function podFactsOf(node: NodeFacts, podIps: readonly Ip[], runsImages: boolean): PodFacts {
  const { name, hostIps, apiService, rootFilesystems } = node
  return { nodeName: name, hostIp: hostIps()[0], podIps, apiService: apiService(), runsImages, rootFilesystems }
}
