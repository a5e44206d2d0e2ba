import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, listAt, objectAt, textAt, withMetadata } from '../document.ts'
import { builtInSchema, overlaySchema } from '../schema/built-in-schema.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'
import { checkFinalizerDomains } from '../schema/metadata-rules.ts'
import { checkDnsLabel } from '../schema/names.ts'
import { object } from '../schema/schema.ts'
import { forbidden } from '../status.ts'
import type { Store, StoredEntry, StoreWrite } from '../store/index.ts'
import { collectionPrefix } from './keys.ts'
import { markDeleted } from './metadata.ts'
import { qualifiedName } from './name-checks.ts'
import { type CoWrites, column, type Resource, type Transition } from './resource.ts'
import { renderDocument } from './stored-text.ts'

export interface NamespaceContext {
  readonly dialect: Dialect
  readonly store: Store
  readonly now: () => Date
  /**
   * Whether the server itself deletes the contents of a namespace in the commit that deletes the namespace; otherwise
   * the namespace controller does.
   */
  readonly sweeps: boolean
  /** Returns the namespaced resources that are served now. */
  readonly contents: () => readonly Resource[]
}

const ownFinalizer = 'kubernetes'

export function namespaces(context: NamespaceContext): Resource {
  const { dialect } = context
  return {
    group: '',
    version: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    singular: 'namespace',
    shortNames: ['ns'],
    categories: [],
    namespaced: false,
    deletesOneByOne: dialect.name === 'kubernetes',
    subresources: ['status', 'finalize'],
    schema: overlaySchema(
      builtInSchema('', 'v1', 'Namespace'),
      object({ spec: { default: {} }, status: { default: {} } }),
    ),
    countsGeneration: false,
    selectableFields: { 'status.phase': (namespace) => textAt(namespace['status'], 'phase') },
    columns: [column('Status', (namespace) => textAt(namespace['status'], 'phase'))],
    strategy: {
      validateName: checkDnsLabel,
      prepareForCreate: (namespace) => ({
        ...withNameLabel(namespace, dialect),
        spec: { finalizers: [...new Set([...listAt(namespace['spec'], 'finalizers'), ownFinalizer])] },
        status: { phase: 'Active' },
      }),
      prepareForUpdate: (namespace, old) => withNameLabel(withSpecOf(namespace, old), dialect),
      validate: validateFinalizers,
      validateStatus: validatePhase,
      isHeld: (namespace) => isHeld(namespace, context),
      showDeleted: (namespace, now) => ({ ...markDeleted(namespace, 0, now), status: { phase: 'Terminating' } }),
      coWrites: async (transition) => {
        assertDeletable(transition)
        return endContents(transition, context)
      },
    },
  }
}

/** Checks the finalizers. Kubernetes names the wrong one only in an update through `/finalize`. */
function validateFinalizers(namespace: ApiDocument, old: ApiDocument | undefined): readonly FieldError[] {
  const finalizers = listAt(namespace['spec'], 'finalizers')
  const pathOf = (index: number) => (old === undefined ? 'spec.finalizers' : `spec.finalizers[${index}]`)
  return [
    ...finalizers.flatMap((finalizer, index) => qualifiedName(finalizer, pathOf(index))),
    ...checkFinalizerDomains(finalizers, pathOf),
  ]
}

/** Checks the phase: only a deletion makes a namespace Terminating. */
function validatePhase(namespace: ApiDocument): readonly FieldError[] {
  const isEnding = namespace.metadata.deletionTimestamp !== undefined
  const phase = textAt(namespace['status'], 'phase')
  const [wanted, state] = isEnding ? ['Terminating', 'is not empty'] : ['Active', 'is empty']
  if (phase === wanted) return []
  return [invalidField('status.Phase', phase, `may only be '${wanted}' if \`deletionTimestamp\` ${state}`)]
}

/** Returns the namespace with the stored spec, which holds only the finalizers: they have their own subresource. */
function withSpecOf(namespace: ApiDocument, old: ApiDocument): ApiDocument {
  return { ...namespace, spec: objectAt(old['spec']) }
}

/**
 * Checks whether finalizers keep the namespace until `/finalize` removes them; a server that sweeps removes its own.
 */
function isHeld(namespace: ApiDocument, { sweeps }: NamespaceContext): boolean {
  return listAt(namespace['spec'], 'finalizers').some((finalizer) => !sweeps || finalizer !== ownFinalizer)
}

/** Adds the label by which selectors find a namespace by its name. */
function withNameLabel(namespace: ApiDocument, dialect: Dialect): ApiDocument {
  const { name, labels } = namespace.metadata
  if (name === undefined) return namespace
  return withMetadata(namespace, { labels: { ...labels, [dialect.labels.namespaceName]: name } })
}

const permanent: readonly (string | undefined)[] = ['default', 'kube-system', 'kube-public']

function assertDeletable({ old, next }: Transition): void {
  const name = old?.metadata.name
  if (!isEnding(next) || name === undefined || !permanent.includes(name)) return
  const names = { group: '', plural: 'namespaces', kind: 'Namespace' }
  throw forbidden(names, name, 'this namespace may not be deleted')
}

function isEnding(next: ApiDocument | undefined): boolean {
  return next === undefined || next.metadata.deletionTimestamp !== undefined
}

/**
 * Deletes the contents in the commit that deletes the namespace. Objects with finalizers are marked, and the namespace
 * stays Terminating until the last of them is gone. Where the namespace controller runs, it does this over the API, and
 * here the namespace only becomes Terminating.
 */
async function endContents(transition: Transition, context: NamespaceContext): Promise<CoWrites> {
  const { old, next } = transition
  const name = old?.metadata.name
  if (old === undefined || name === undefined || !isEnding(next)) return { writes: [], errors: [] }
  const { writes, keptCount } = context.sweeps ? await planContents(name, context) : { writes: [], keptCount: 0 }
  if (next === undefined && keptCount === 0) return { writes, errors: [] }
  const marked = next ?? (old.metadata.deletionTimestamp === undefined ? markDeleted(old, 0, context.now()) : old)
  return { next: { ...marked, status: { ...objectAt(marked['status']), phase: 'Terminating' } }, writes, errors: [] }
}

async function planContents(
  name: string,
  { store, contents, now }: NamespaceContext,
): Promise<{ readonly writes: readonly StoreWrite[]; readonly keptCount: number }> {
  const writes: StoreWrite[] = []
  let keptCount = 0
  for (const [prefix, resource] of new Map(contents().map((each) => [collectionPrefix(each, name), each]))) {
    for (const entry of (await store.range(prefix)).entries) {
      const document = JSON.parse(entry.value) as ApiDocument
      const isKept = (document.metadata.finalizers ?? []).length > 0
      if (isKept) keptCount++
      writes.push(...(isKept ? markKept(entry, document, now()) : await removeEntry(entry, document, resource)))
    }
  }
  return { writes, keptCount }
}

function markKept({ key, revision }: StoredEntry, document: ApiDocument, now: Date): readonly StoreWrite[] {
  if (document.metadata.deletionTimestamp !== undefined) return []
  return [{ kind: 'put', key, value: renderDocument(markDeleted(document, 0, now)), expectedRevision: revision }]
}

async function removeEntry(
  { key, revision }: StoredEntry,
  document: ApiDocument,
  { strategy }: Resource,
): Promise<readonly StoreWrite[]> {
  const coWrites = await strategy.coWrites?.({ old: document, next: undefined })
  return [{ kind: 'delete', key, expectedRevision: revision }, ...(coWrites?.writes ?? [])]
}
