import { createHash } from 'node:crypto'
import type { ApiObject, Json, JsonObject } from '../../model/api-object.ts'
import { controllerReference, type Owner } from '../objects/claim.ts'
import type { PodTemplate } from '../objects/parts.ts'

/** Labels that distinguish the pods of one version of a template from those of another. */
export const templateHashLabel = 'pod-template-hash'
export const revisionHashLabel = 'controller-revision-hash'

/** Without vowels, so that no hash spells a word. */
const hashLetters = 'bcdfghjklmnpqrstvwxz2456789'
const hashLength = 10

/** Ten letters that stand for the content, whatever the order of its fields; `collisions` gives another hash for the same content. */
export function hashTemplate(template: unknown, collisions: number): string {
  const digest = createHash('sha256')
    .update(`${canonicalJson(template as Json)}/${collisions}`)
    .digest()
  return [...digest.subarray(0, hashLength)].map((byte) => hashLetters[byte % hashLetters.length]).join('')
}

/** JSON with the keys of every object in order. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(value, (_key, part: Json) => {
    if (part === null || typeof part !== 'object' || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
  })
}

/** Returns the template in its written form: without empty labels and annotations. */
export function withoutEmptyMetadata({ metadata, ...rest }: PodTemplate): JsonObject {
  const { labels, annotations, ...others } = metadata
  const said = { ...others, ...filled('labels', labels), ...filled('annotations', annotations) }
  return { ...rest, metadata: said } as unknown as JsonObject
}

function filled(name: string, texts: Readonly<Record<string, string>>) {
  return Object.keys(texts).length === 0 ? {} : { [name]: texts }
}

export interface PodIdentity {
  /** A name of its own, or the beginning of one that the API completes. */
  readonly name?: string
  readonly generateName?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly spec?: JsonObject
}

/** A pod of the template, controlled by the owner. */
export function podFromTemplate(owner: Owner, template: PodTemplate, identity: PodIdentity): ApiObject {
  const { labels, annotations } = template.metadata
  const { name, generateName, labels: ownLabels, spec } = identity
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(generateName === undefined ? {} : { generateName }),
      namespace: owner.metadata.namespace,
      labels: { ...labels, ...ownLabels },
      ...filled('annotations', annotations),
      ownerReferences: [controllerReference(owner)],
    },
    spec: { ...template.spec, ...spec },
  }
  return object as unknown as ApiObject
}
