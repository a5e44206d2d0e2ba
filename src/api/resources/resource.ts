import type { Json, JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import type { User } from '../identity.ts'
import type { FieldError } from '../schema/field-error.ts'
import type { Schema } from '../schema/schema.ts'
import type { StoreWrite } from '../store/index.ts'
import type { Aside } from '../store/wait-for-revision.ts'

export type Subresource = 'status' | 'scale' | 'binding' | 'eviction' | 'finalize' | 'token'

/** One kind that the server serves, in one version. Adding a kind is adding one of these to the registry. */
export interface Resource {
  /** `""` is the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  /** What a list of it is; absent: its kind and `List`. */
  readonly listKind?: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  /** Its version is the one of its group that clients shall take first; without, the most stable and newest. */
  readonly isPreferred?: boolean
  /** There is no deletion of all at once. */
  readonly deletesOneByOne?: boolean
  readonly subresources: readonly Subresource[]
  readonly schema: Schema
  /** Whether `metadata.generation` counts the changes outside metadata and status. */
  readonly countsGeneration: boolean
  /** Beside `metadata.name` and `metadata.namespace`, which every kind has: the field's text in a document. */
  readonly selectableFields: Readonly<Record<string, (document: ApiDocument) => string>>
  /** Between NAME and AGE in a Table. */
  readonly columns: readonly Column[]
  /** A Table shows no AGE. */
  readonly hidesAge?: boolean
  /** A Table begins with the kind's own columns; the name is among the wide ones. */
  readonly hidesName?: boolean
  /** Where the numbers of `/scale` stand; present with that subresource. */
  readonly scale?: ScalePaths
  /** The kind that `/token` takes and answers; present with that subresource. */
  readonly tokenRequest?: Resource
  /** The Warning that every use of this version brings. */
  readonly deprecation?: string
  readonly strategy: Strategy
  /** Create is all there is: the status that answers what was asked, and nothing is stored. */
  readonly review?: Review
  /** Declared by a CustomResourceDefinition: knows no strategic merge patch. */
  readonly isCustom?: boolean
  /** Its definition is being deleted: what is left can be read and deleted. */
  readonly isTerminating?: boolean
  /** Where and how objects stand in the store; absent: under their plural, as this version shows them. */
  readonly storage?: ResourceStorage
}

export type Review = (question: Question) => JsonObject | Promise<JsonObject>

/** What is asked by creating an object of a kind that is only ever answered. */
interface Question {
  readonly user: User
  readonly document: ApiDocument
}

/** Versions of one kind that name the same prefix are views of the same objects. */
interface ResourceStorage {
  /** What follows `/registry/` in every key: `servicecidrs`, `example.com/widgets`. */
  readonly prefix: string
  /** The apiVersion under which objects are stored. */
  readonly apiVersion: string
  /** How this version differs from the stored one; absent: in nothing but apiVersion. */
  readonly conversion?: Conversion
}

/** Pure; apiVersion is set by the caller. */
interface Conversion {
  readonly toStored: (document: ApiDocument) => ApiDocument
  readonly fromStored: (document: ApiDocument) => ApiDocument
}

/** Field names on the way to a value: `['spec', 'replicas']`. */
export type FieldPath = readonly string[]

export interface ScalePaths {
  readonly specReplicas: FieldPath
  readonly statusReplicas: FieldPath
  /** The selector as one text; of a built-in kind the selector itself. */
  readonly labelSelector?: FieldPath
}

export interface Column {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  readonly description?: string
  /** 0 is always shown, above 0 only by `-o wide`. */
  readonly priority: number
  readonly cell: (document: ApiDocument, now: Date) => Json
}

/** What a kind adds to the verbs. All members are pure, except that `admit` and `coWrites` read the store. */
export interface Strategy {
  /** The rule for `metadata.name`; absent means a DNS subdomain. */
  readonly validateName?: (name: string) => string | undefined
  /** A finalizer needs no domain before its name. */
  readonly takesAnyFinalizer?: boolean
  /** How long a deleted object stays so that someone can stop what it stands for; absent: not at all. */
  readonly graceSeconds?: (document: ApiDocument, asked: number | undefined) => number
  /** A create may bring the status along. */
  readonly keepsStatusOnCreate?: boolean
  /** What a delete answers once the object is gone; absent: a Status. */
  readonly showDeleted?: (document: ApiDocument, now: Date) => ApiDocument
  /** Something beside its `metadata.finalizers` keeps a deleted object. */
  readonly isHeld?: (document: ApiDocument) => boolean
  /**
   * What of the metadata a write of the status leaves alone, as Kubernetes has it for the kind; absent: nothing, so that a load balancer
   * can set its finalizer and its annotations together with the status.
   */
  readonly statusLeaves?: 'metadata' | readonly string[]
  /** A PUT of an object that is not there creates it. */
  readonly createsOnUpdate?: boolean
  /** What a PUT must name the resourceVersion of that it replaces: the object and its status, or the object alone. */
  readonly needsRevision?: 'object-and-status' | 'object'
  readonly prepareForCreate?: (document: ApiDocument) => ApiDocument
  /** What a new object becomes before it is validated; fields that it gets here have no manager. Rejects with a Status. */
  readonly admit?: (document: ApiDocument, admission: Admission) => Promise<ApiDocument>
  readonly prepareForUpdate?: (document: ApiDocument, old: ApiDocument) => ApiDocument
  /** A create has no `old`. With it, a kind can let stand what was valid when it was stored. */
  readonly validate?: (document: ApiDocument, old: ApiDocument | undefined) => readonly FieldError[]
  /** What an update of the status is checked for, beside `validate`; what was wrong before stays allowed. */
  readonly validateStatus?: (document: ApiDocument, old: ApiDocument) => readonly FieldError[]
  /** What is accepted and may surprise; becomes Warning headers. */
  readonly warnings?: (document: ApiDocument) => readonly string[]
  readonly validateUpdate?: (document: ApiDocument, old: ApiDocument) => readonly FieldError[]
  /** What a definition's own rules say of a document; an update has the document that was stored. */
  readonly checkRules?: (document: ApiDocument, old: ApiDocument | undefined) => Promise<readonly FieldError[]>
  /** Further writes that must land in the same commit: allocations with the Service, contents with the Namespace. */
  readonly coWrites?: (transition: Transition) => Promise<CoWrites>
}

/** What admission needs to know of the request that brings a new object. */
export interface Admission {
  readonly namespace: string
  /** What errors call the object: its name, or what a name is generated from. */
  readonly name: string
  /** A name that begins so and is unlike others. */
  readonly newName: (base: string) => string
  /** How it waits for another object. */
  readonly aside: Aside
}

/** A create has no `old`, a delete no `next`. */
export interface Transition {
  readonly old: ApiDocument | undefined
  readonly next: ApiDocument | undefined
}

export interface CoWrites {
  /** `next` with what was allocated filled in; absent where it stays as it was. */
  readonly next?: ApiDocument
  readonly writes: readonly StoreWrite[]
  /** Why the change cannot be: becomes a 422. */
  readonly errors: readonly FieldError[]
}

export function listKindOf({ kind, listKind }: Pick<Resource, 'kind' | 'listKind'>): string {
  return listKind ?? `${kind}List`
}

/** `v1`, `discovery.k8s.io/v1` */
export function apiVersionOf(resource: { readonly group: string; readonly version: string }): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
}

export function column(name: string, cell: Column['cell'], options: { wide?: true } = {}): Column {
  return { name, type: 'string', priority: options.wide === true ? 1 : 0, cell }
}
