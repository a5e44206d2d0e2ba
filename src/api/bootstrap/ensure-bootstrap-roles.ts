import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, listAt, withMetadata } from '../document.ts'
import { StatusError } from '../status.ts'
import { createObject } from '../verbs/create.ts'
import { reviseObject } from '../verbs/update.ts'
import type { VerbContext } from '../verbs/verb-context.ts'
import { bootstrapBindings, bootstrapRoles } from './bootstrap-roles.ts'

/**
 * Creates the ClusterRoles and bindings of every cluster, and adds to existing ones the rules that this version adds; additions by people
 * stay. One with the annotation `autoupdate: "false"` is left unchanged.
 */
export async function ensureBootstrapRoles(context: VerbContext, dialect: Dialect): Promise<void> {
  const labels = { [dialect.labels.bootstrapping]: 'rbac-defaults' }
  const annotations = { [dialect.labels.autoUpdate]: 'true' }
  for (const role of bootstrapRoles(dialect)) {
    const selector = { matchLabels: { [role.aggregates ?? '']: 'true' } }
    await ensure(context, dialect, 'clusterroles', {
      metadata: { name: role.name, labels: { ...labels, ...role.labels }, annotations },
      rules: role.rules,
      ...(role.aggregates === undefined ? {} : { aggregationRule: { clusterRoleSelectors: [selector] } }),
    })
  }
  for (const { role, subjects } of bootstrapBindings(dialect)) {
    await ensure(context, dialect, 'clusterrolebindings', {
      metadata: { name: role, labels, annotations },
      roleRef: { apiGroup: dialect.groups.rbac, kind: 'ClusterRole', name: role },
      subjects,
    })
  }
}

type Wanted = JsonObject & { readonly metadata: ApiDocument['metadata'] & { readonly name: string } }

async function ensure(context: VerbContext, dialect: Dialect, plural: string, wanted: Wanted): Promise<void> {
  const resource = context.registry.find(dialect.groups.rbac, 'v1', plural)
  if (resource === undefined) return
  const { name } = wanted.metadata
  const target = { resource, namespace: undefined, name, subresource: undefined }
  try {
    await createObject(context, target, wanted, { dryRun: false, manager: 'platnet' })
  } catch (thrown) {
    if (!(thrown instanceof StatusError) || thrown.code !== 'AlreadyExists') throw thrown
    await reviseObject(context, target, (found) => restore(found, wanted, dialect), {
      dryRun: false,
      manager: 'platnet',
    })
  }
}

function restore(found: ApiDocument, wanted: Wanted, { labels: { autoUpdate } }: Dialect): ApiDocument {
  if (found.metadata.annotations?.[autoUpdate] === 'false') return found
  const labels = { ...found.metadata.labels, ...wanted.metadata.labels }
  const lists = ['rules', 'subjects'].filter((field) => wanted[field] !== undefined)
  const restored = lists.map((field) => [field, union(listAt(found[field]), listAt(wanted[field]))])
  return { ...withMetadata(found, { labels }), ...Object.fromEntries(restored) }
}

function union(found: readonly Json[], wanted: readonly Json[]): readonly Json[] {
  return [...found, ...wanted.filter((each) => !found.some((known) => isDeepStrictEqual(known, each)))]
}
