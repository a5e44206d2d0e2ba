import type { SourceLocation } from '../corefile/errors.ts'
import type { ServerKey } from '../corefile/zones.ts'
import type { BindSettings } from './bind/directive.ts'
import type { CachePlugin } from './cache/settings.ts'
import type { ErrorsSettings } from './errors/settings.ts'
import type { ForwardPlugin } from './forward/settings.ts'
import type { HealthSettings } from './health/directive.ts'
import type { HostsSettings } from './hosts/settings.ts'
import type { KubernetesSettings } from './kubernetes/settings.ts'
import type { LoadbalanceSettings } from './loadbalance/settings.ts'
import type { LogRule } from './log/settings.ts'
import type { PrometheusSettings } from './prometheus/directive.ts'
import type { ReadySettings } from './ready/directive.ts'
import type { ReloadSettings } from './reload/directive.ts'
import type { RewriteRule } from './rewrite/settings.ts'
import type { TemplateSettings } from './template/settings.ts'

/** A Corefile that was read and checked: plain data with every default filled in. Names are in wire form and in lower case. */
export interface Corefile {
  readonly blocks: readonly ServerBlock[]
}

interface IgnoredDirective {
  readonly name: string
  readonly location: SourceLocation
}

/** One server block with the settings of each of its plugins. */
export interface ServerBlock {
  readonly location: SourceLocation
  /** Each zone on its port. A network stands as its reverse zones. */
  readonly keys: readonly ServerKey[]
  readonly errors?: ErrorsSettings
  readonly log: readonly LogRule[]
  readonly health?: HealthSettings
  readonly ready?: ReadySettings
  readonly kubernetes?: KubernetesSettings
  readonly prometheus?: PrometheusSettings
  readonly forward: readonly ForwardPlugin[]
  readonly cache?: CachePlugin
  readonly loop: boolean
  readonly reload?: ReloadSettings
  readonly loadbalance?: LoadbalanceSettings
  readonly hosts?: HostsSettings
  /** Each line with its own exceptions. An empty list is the addresses of the cluster's DNS and of the node. */
  readonly bind: readonly BindSettings[]
  /** In the order in which they are written, which is the order in which they are tried. */
  readonly rewrite: readonly RewriteRule[]
  readonly template: readonly TemplateSettings[]
  /** Directives that are taken and do nothing. */
  readonly ignored: readonly IgnoredDirective[]
}
