import { formatTime, type Json } from '../../model/api-object.ts'
import { customResourceCleanup, type Dialect } from '../../model/dialect.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt, withMetadata } from '../document.ts'
import { type CoWrites, column, type Resource, type Transition } from '../resources/resource.ts'
import { builtInSchema } from '../schema/built-in-schema.ts'
import type { Store } from '../store/index.ts'
import { keepDecided, settleStatus, withStorageVersion } from './definition-status.ts'
import { validateDefinition, validateDefinitionUpdate } from './definition-validation.ts'
import { claimWrites, readClaims } from './name-claims.ts'
import { compactSchema } from './schema-output.ts'
import { definitionWarnings } from './version-validation.ts'

export const definitionsPrefix = '/registry/customresourcedefinitions/'

/**
 * The kind CustomResourceDefinition, with which users define kinds. `custom/` implements the effects of a definition.
 */
export function customResourceDefinitions(dialect: Dialect, store: Store, now: () => Date): Resource {
  return {
    group: dialect.groups.apiextensions,
    version: 'v1',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    singular: 'customresourcedefinition',
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    namespaced: false,
    subresources: ['status'],
    schema: builtInSchema('apiextensions', 'v1', 'CustomResourceDefinition'),
    countsGeneration: true,
    selectableFields: {},
    columns: [column('Created At', ({ metadata }) => metadata.creationTimestamp ?? '')],
    strategy: {
      takesAnyFinalizer: true,
      needsRevision: 'object-and-status',
      statusLeaves: ['labels', 'annotations', 'finalizers', 'ownerReferences'],
      prepareForCreate: (document) => withCleanup(withDefaults(document), dialect),
      prepareForUpdate: (document) => withStorageVersion(withCleanup(withDefaults(document), dialect)),
      validate: (document, old) => validateDefinition(document, old, dialect),
      validateUpdate: validateDefinitionUpdate,
      warnings: definitionWarnings,
      coWrites: (transition) => settle(transition, store, formatTime(now())),
    },
  }
}

/** Adds the finalizer that keeps the definition until the cleanup has deleted its instances; it is present from creation. */
function withCleanup(document: ApiDocument, dialect: Dialect): ApiDocument {
  const { finalizers = [], deletionTimestamp } = document.metadata
  const cleanup = customResourceCleanup(dialect)
  if (deletionTimestamp !== undefined || finalizers.includes(cleanup)) return document
  return withMetadata(document, { finalizers: [...finalizers, cleanup] })
}

function withDefaults(document: ApiDocument): ApiDocument {
  const spec = objectAt(document['spec'])
  const given = objectAt(spec, 'names')
  const kind = textAt(given, 'kind')
  const filled = {
    ...given,
    singular: textAt(given, 'singular') || kind.toLowerCase(),
    listKind: textAt(given, 'listKind') || (kind === '' ? '' : `${kind}List`),
  }
  const conversion = spec['conversion'] ?? { strategy: 'None' }
  return { ...document, spec: { ...spec, names: filled, conversion, versions: listAt(spec, 'versions').map(compact) } }
}

function compact(version: Json): Json {
  const openAPIV3Schema = objectAt(version, 'schema')['openAPIV3Schema']
  if (!isJsonObject(version) || !isJsonObject(openAPIV3Schema)) return version
  return { ...version, schema: { openAPIV3Schema: compactSchema(openAPIV3Schema) } }
}

/** Settles the conditions and claims the names in the commit of the write itself: a client that creates a definition may use it at once. */
async function settle({ old, next }: Transition, store: Store, time: string): Promise<CoWrites> {
  const claims = await readClaims(
    store,
    [old, next].filter((each) => each !== undefined),
  )
  if (next === undefined) return { writes: claimWrites(claims, old, next), errors: [] }
  const { entries } = await store.range(definitionsPrefix)
  const all = entries.map((entry) => JSON.parse(entry.value) as ApiDocument)
  const settled = settleStatus(keepDecided(next, old), all, time)
  return { next: settled, writes: claimWrites(claims, old, settled), errors: [] }
}
