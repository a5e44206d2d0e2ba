import type { Run } from '../../host/index.ts'
import type { Logger, Tracer } from '../../observe/index.ts'
import type { StopSignals } from './call-plugin.ts'
import type { RunningCall } from './running-calls.ts'

export interface CniSettings {
  /** The folder of network lists, such as /etc/cni/net.d. */
  readonly configDir: string
  /** Folders of plugins, such as /opt/cni/bin; the first folder that has a plugin wins. */
  readonly binDirs: readonly string[]
  /** The folder of the result cache, such as /var/lib/cni. */
  readonly cacheDir: string
  /** Time limit of one plugin; 60 s by default. */
  readonly pluginTimeoutMs?: number
  /** Delay between attempts while a binary is being replaced; 1 s by default. */
  readonly busyDelayMs?: number
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Owner written into our cache files, by which GC knows them; `platnet` by default. */
  readonly owner?: string
  /** Folders of host-local, with one folder per network; `networks` of the cache folder by default. */
  readonly ipamDirs?: readonly string[]
  /** Starts iptables during the search for leftovers. */
  readonly runProgram?: Run
  /** Starts the plugins; by default in this process' own namespaces. */
  readonly run?: Run
  /** Age at which a running plugin is reported as slow: most take milliseconds. 3 s by default. */
  readonly slowAfterMs?: number
  /** Called with a slow plugin, then every 10 s; logs it by default. */
  readonly onSlow?: (call: RunningCall) => void
  /** Signals of a command that its user interrupts. */
  readonly stop?: StopSignals
  /** Absent: ADDs are not traced. */
  readonly tracer?: Tracer
  readonly log: Logger
}
