import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, textAt, withMetadata } from '../document.ts'
import { builtInSchema, overlaySchema } from '../schema/built-in-schema.ts'
import { object } from '../schema/schema.ts'
import { forbidden } from '../status.ts'
import type { Store, StoreWrite } from '../store/index.ts'
import { collectionPrefix } from './keys.ts'
import { checkDnsLabel } from './names.ts'
import { type Companions, column, type Resource, type Transition } from './resource.ts'

/** `contents` are the namespaced resources: what is in a namespace goes in the commit that deletes it. */
export function namespaces(dialect: Dialect, store: Store, contents: () => readonly Resource[]): Resource {
  return {
    group: '',
    version: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    singular: 'namespace',
    shortNames: ['ns'],
    categories: [],
    namespaced: false,
    subresources: ['status'],
    schema: overlaySchema(
      builtInSchema('', 'v1', 'Namespace'),
      object({ spec: { default: {} }, status: { default: {} } }),
    ),
    countsGeneration: false,
    selectableFields: { 'status.phase': (namespace) => textAt(namespace['status'], 'phase') },
    columns: [column('Status', (namespace) => textAt(namespace['status'], 'phase'))],
    strategy: {
      validateName: checkDnsLabel,
      prepareForCreate: (namespace) => ({ ...withNameLabel(namespace, dialect), status: { phase: 'Active' } }),
      prepareForUpdate: (namespace) => withNameLabel(namespace, dialect),
      companions: async (transition) => {
        assertDeletable(transition)
        return deleteContents(transition, store, contents())
      },
    },
  }
}

/** The label by which selectors find a namespace by its name. */
function withNameLabel(namespace: ApiDocument, dialect: Dialect): ApiDocument {
  const { name, labels } = namespace.metadata
  if (name === undefined) return namespace
  return withMetadata(namespace, { labels: { ...labels, [dialect.labels.namespaceName]: name } })
}

const permanent: readonly (string | undefined)[] = ['default', 'kube-system']

function assertDeletable({ old, next }: Transition): void {
  const name = old?.metadata.name
  if (next !== undefined || name === undefined || !permanent.includes(name)) return
  const names = { group: '', plural: 'namespaces', kind: 'Namespace' }
  throw forbidden(names, name, 'this namespace may not be deleted')
}

async function deleteContents(
  { old, next }: Transition,
  store: Store,
  contents: readonly Resource[],
): Promise<Companions> {
  const name = next === undefined ? old?.metadata.name : undefined
  if (name === undefined) return { writes: [], errors: [] }
  const writes: StoreWrite[] = []
  for (const [prefix, resource] of new Map(contents.map((each) => [collectionPrefix(each, name), each]))) {
    for (const entry of (await store.range(prefix)).entries) {
      const document = JSON.parse(entry.value) as ApiDocument
      const companions = await resource.strategy.companions?.({ old: document, next: undefined })
      writes.push({ kind: 'delete', key: entry.key, expectedRevision: entry.revision }, ...(companions?.writes ?? []))
    }
  }
  return { writes, errors: [] }
}
