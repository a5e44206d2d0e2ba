import type { LabelSelector } from '../../../../model/selector.ts'
import type { SourceLocation } from '../../corefile/errors.ts'
import type { Fallthrough } from '../../corefile/fallthrough.ts'
import type { WireName } from '../../wire/name.ts'
import type { PodRecords } from '../../zone/settings.ts'

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
  /** The options that were checked and have no effect. */
  readonly ignored: readonly LocatedOption[]
}

interface LocatedOption {
  readonly name: string
  readonly location: SourceLocation
}
