import { createHash } from 'node:crypto'
import type { ApiObject, Json, JsonObject } from '../../model/api-object.ts'
import { controllerReference, type Owner } from '../objects/claim.ts'
import type { PodTemplate } from '../objects/parts.ts'

/** The label with the hash of the template, which distinguishes pods of its versions. */
export const templateHashLabel = 'pod-template-hash'
export const revisionHashLabel = 'controller-revision-hash'

/** The characters of a hash: no vowels, so that no hash spells a word. */
const hashLetters = 'bcdfghjklmnpqrstvwxz2456789'
const hashLength = 10

/**
 * Returns ten letters and digits that depend on the content, not on the order of its fields. Another number of
 * `collisions` gives another hash for the same content.
 */
export function hashTemplate(template: unknown, collisions: number): string {
  const digest = createHash('sha256')
    .update(`${canonicalJson(template as Json)}/${collisions}`)
    .digest()
  return [...digest.subarray(0, hashLength)].map((byte) => hashLetters[byte % hashLetters.length]).join('')
}

/** Returns JSON with the keys of every object sorted. */
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
  /** The name of the pod, or the prefix from which the API generates one. */
  readonly name?: string
  readonly generateName?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly spec?: JsonObject
}

/** Makes a pod from the template, with the owner as its controller. */
export function podFromTemplate(owner: Owner, template: PodTemplate, identity: PodIdentity): ApiObject {
  const { labels, annotations } = template.metadata
  const { name, generateName, labels: ownLabels, finalizers, spec } = identity
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(generateName === undefined ? {} : { generateName }),
      namespace: owner.metadata.namespace,
      labels: { ...labels, ...ownLabels },
      ...filled('annotations', { ...annotations, ...identity.annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [controllerReference(owner)],
    },
    spec: { ...template.spec, ...spec },
  }
  return object as unknown as ApiObject
}
