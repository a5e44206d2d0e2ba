import type { ApiObject } from '../../model/api-object.ts'
import { controllerReference, type Owner } from '../objects/claim.ts'
import type { PodTemplate } from '../objects/parts.ts'
import { nameOf, type Write } from '../objects/writes.ts'
import { appsVersion, controllerRevisionsResource } from './kinds.ts'
import type { ControllerRevision } from './shapes.ts'
import { canonicalJson, hashTemplate, withoutEmptyMetadata } from './template.ts'

/**
 * The wanted revision of a StatefulSet or DaemonSet, and the writes that keep the history for `kubectl rollout
 * history|undo`.
 */
export interface Revisions {
  /** The name of the wanted revision. Its pods carry the hash in a label. */
  readonly name: string
  readonly hash: string
  readonly writes: readonly Write[]
}

/**
 * Plans the revision of the present template: it is the newest one. An old revision with the same template becomes the
 * newest again.
 */
export function planRevisions(
  owner: Owner,
  template: PodTemplate,
  history: readonly ControllerRevision[],
  limit: { readonly revisionHistoryLimit: number; readonly inUse: ReadonlySet<string>; readonly hashLabel: string },
): Revisions {
  const { hashLabel } = limit
  const hash = hashTemplate(template, 0)
  const name = `${owner.metadata.name}-${hash}`
  const newest = Math.max(0, ...history.map(({ revision }) => revision))
  const existing = history.find(({ metadata }) => metadata.name === name)
  if (existing === undefined)
    return { name, hash, writes: [createRevision(owner, template, { hash, hashLabel, revision: newest + 1 })] }
  const target = nameOf(controllerRevisionsResource, existing)
  const renewal: readonly Write[] =
    existing.revision === newest ? [] : [{ verb: 'patch', target, patch: { revision: newest + 1 } }]
  return { name, hash, writes: [...renewal, ...tidy(history, name, limit)] }
}

function tidy(
  history: readonly ControllerRevision[],
  wanted: string,
  { revisionHistoryLimit, inUse }: { readonly revisionHistoryLimit: number; readonly inUse: ReadonlySet<string> },
): readonly Write[] {
  const old = history.filter(({ metadata }) => metadata.name !== wanted && !inUse.has(metadata.name))
  return old
    .toSorted((one, other) => one.revision - other.revision)
    .slice(0, Math.max(0, old.length - revisionHistoryLimit))
    .map((revision) => ({
      verb: 'delete',
      target: nameOf(controllerRevisionsResource, revision),
      uid: revision.metadata.uid,
    }))
}

function createRevision(
  owner: Owner,
  template: PodTemplate,
  { hash, hashLabel, revision }: { readonly hash: string; readonly hashLabel: string; readonly revision: number },
): Write {
  const { name, namespace, annotations } = owner.metadata
  const object = {
    apiVersion: appsVersion,
    kind: 'ControllerRevision',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels: { ...template.metadata.labels, [hashLabel]: hash },
      annotations,
      ownerReferences: [controllerReference(owner)],
    },
    revision,
    // Clients compare the text with one that they make, with the fields in the order of their names.
    data: JSON.parse(canonicalJson({ spec: { template: { ...withoutEmptyMetadata(template), $patch: 'replace' } } })),
  }
  return { verb: 'create', resource: controllerRevisionsResource, object: object as unknown as ApiObject }
}
