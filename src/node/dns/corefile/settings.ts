import type { Cidr, Ip } from '../../../model/ip.ts'
import type { LabelSelector } from '../../../model/selector.ts'
import type { CacheSettings } from '../cache/settings.ts'
import type { ForwardSettings } from '../forward/settings.ts'
import type { WireName } from '../wire/name.ts'
import type { PodRecords } from '../zone/settings.ts'
import type { SourceLocation } from './errors.ts'

/** A Corefile that makes sense: plain data, names folded in wire form, everything with its default. */
export interface Corefile {
  readonly blocks: readonly ServerBlock[]
}

export interface ServerBlock {
  readonly location: SourceLocation
  /** Each zone on its port; a network became its reverse zones. */
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
  /** Each line with its own exceptions; none is wherever the cluster's DNS is. */
  readonly bind: readonly BindSettings[]
  /** In the order they are written, which is the one they are tried in. */
  readonly rewrite: readonly RewriteRule[]
  readonly template: readonly TemplateSettings[]
}

export interface ServerKey {
  readonly zone: WireName
  readonly port: number
}

/** An address and port to listen on; without address that of the cluster's DNS. */
export interface EndpointAddress {
  readonly address?: string
  readonly port: number
}

export interface ErrorsSettings {
  readonly stacktrace: boolean
  readonly consolidate: readonly ConsolidateRule[]
}

/** Errors whose text matches are gathered and reported once each period. */
export interface ConsolidateRule {
  readonly periodMs: number
  /** RE2. */
  readonly pattern: string
  readonly level: 'warning' | 'error' | 'info' | 'debug'
  readonly showFirst: boolean
}

export type LogClass = 'all' | 'denial' | 'error' | 'success'

export interface LogRule {
  readonly zone: WireName
  /** With `{fields}` as CoreDNS names them. */
  readonly format: string
  readonly classes: readonly LogClass[]
}

export interface HealthSettings {
  readonly listen: EndpointAddress
  readonly lameduckMs: number
}

export interface ReadySettings {
  readonly listen: EndpointAddress
  readonly monitor: 'until-ready' | 'continuously'
}

export interface PrometheusSettings {
  readonly listen: EndpointAddress
}

/** `all` is every zone, a list those zones; undefined is none. */
export type Fallthrough = 'all' | readonly WireName[] | undefined

export interface KubernetesSettings {
  readonly zones: readonly WireName[]
  readonly ttl: number
  readonly pods: PodRecords
  readonly endpointPodNames: boolean
  readonly useEndpoints: boolean
  readonly ignoreEmptyServices: boolean
  readonly namespaces: readonly string[]
  readonly labels?: LabelSelector
  readonly namespaceLabels?: LabelSelector
  readonly fallthrough: Fallthrough
  /** Options that were checked and do nothing here. */
  readonly ignored: readonly LocatedOption[]
}

export interface LocatedOption {
  readonly name: string
  readonly location: SourceLocation
}

/** Where `forward` sends to: an address, or the `nameserver` lines of a resolver file. */
export type ForwardTarget =
  | {
      readonly kind: 'address'
      readonly address: Ip
      readonly port: number
      readonly overTls: boolean
      readonly serverName?: string
    }
  | { readonly kind: 'file'; readonly path: string }

export interface ForwardPlugin extends Omit<ForwardSettings, 'targets'> {
  readonly location: SourceLocation
  readonly from: WireName
  readonly to: readonly ForwardTarget[]
  readonly except: readonly WireName[]
  readonly tls?: ForwardTls
  /** What kept connections may be at most; 0 is any number. */
  readonly maxIdleConnections: number
  /** Answers with these rcodes, or without data, are for the next `forward` of the block. */
  readonly next: readonly number[]
  readonly nextOnNodata: boolean
}

/** Paths of PEM files, and the line they stand in. */
export interface ForwardTls {
  readonly location: SourceLocation
  readonly certificate?: string
  readonly key?: string
  readonly authority?: string
  readonly serverName?: string
}

export interface CachePlugin {
  readonly zones: readonly WireName[]
  readonly settings: CacheSettings
}

export interface ReloadSettings {
  readonly intervalMs: number
  readonly jitterMs: number
}

export interface LoadbalanceSettings {
  readonly policy: 'round_robin' | 'weighted'
  /** Of `weighted`: the file with the weights, and how often it is looked at. */
  readonly file?: string
  readonly location: SourceLocation
  readonly reloadMs: number
  /** Networks whose addresses come first. */
  readonly prefer: readonly Cidr[]
}

export interface HostsSettings {
  readonly file: string
  /** The file is written; false for the one that is read where none is. */
  readonly namesFile: boolean
  readonly location: SourceLocation
  readonly zones: readonly WireName[]
  readonly inline: readonly string[]
  readonly ttl: number
  readonly reverse: boolean
  readonly reloadMs: number
  readonly fallthrough: Fallthrough
}

export interface BindSettings {
  /** Addresses or names of links. */
  readonly addresses: readonly string[]
  readonly except: readonly string[]
}

export type MatchKind = 'exact' | 'prefix' | 'suffix' | 'substring' | 'regex'

/** Text of names is folded and ends with a dot, that of parts of names is folded. */
export type RewriteRule = { readonly location: SourceLocation; readonly next: 'continue' | 'stop' } & (
  | {
      readonly field: 'name'
      readonly match: MatchKind
      readonly from: string
      readonly to: string
      /** The names of the answer are turned back by themselves. */
      readonly auto: boolean
      readonly answer: readonly AnswerRewrite[]
    }
  | { readonly field: 'type' | 'class'; readonly from: number; readonly to: number }
  | {
      readonly field: 'ttl'
      readonly match: MatchKind
      readonly from: string
      readonly min: number
      readonly max: number
    }
)

/** Names of records (`name`) or in their data (`value`) that match are replaced. */
export interface AnswerRewrite {
  readonly part: 'name' | 'value'
  /** RE2. */
  readonly pattern: string
  readonly replacement: string
}

export interface TemplateSettings {
  readonly location: SourceLocation
  readonly class: number
  readonly type: number
  readonly zones: readonly WireName[]
  /** RE2; any of them, or `.*`. */
  readonly match: readonly string[]
  readonly answer: readonly string[]
  readonly additional: readonly string[]
  readonly authority: readonly string[]
  readonly rcode: number
  readonly extendedError?: { readonly code: number; readonly reason: string }
  readonly fallthrough: Fallthrough
}
