import type { JsonObject } from '../../model/api-object.ts'

/** A ClusterRole that every cluster has. */
export interface BootstrapRole {
  readonly name: string
  readonly rules: readonly JsonObject[]
  readonly labels?: Readonly<Record<string, string>>
  readonly aggregates?: string
}

/** A ClusterRoleBinding that every cluster has, under the name of its role. */
export interface BootstrapBinding {
  readonly role: string
  readonly subjects: readonly JsonObject[]
}
