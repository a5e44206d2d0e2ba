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
  /** The kind of its list; absent: its kind and `List`. */
  readonly listKind?: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  /** Whether clients prefer its version in its group; otherwise the most stable and newest is preferred. */
  readonly isPreferred?: boolean
  /** Whether a collection cannot be deleted at once. */
  readonly deletesOneByOne?: boolean
  readonly subresources: readonly Subresource[]
  readonly schema: Schema
  /** Whether `metadata.generation` counts the changes outside metadata and status. */
  readonly countsGeneration: boolean
  /** Beside `metadata.name` and `metadata.namespace`, which every kind has: the field's text in a document. */
  readonly selectableFields: Readonly<Record<string, (document: ApiDocument) => string>>
  /** Between NAME and AGE in a Table. */
  readonly columns: readonly Column[]
  /** Whether a Table shows no AGE. */
  readonly hidesAge?: boolean
  /** Whether a Table begins with the kind's own columns; the name is then among the wide ones. */
  readonly hidesName?: boolean
  /** The paths of the numbers of `/scale`; present with that subresource. */
  readonly scale?: ScalePaths
  /** The kind of the request and the response of `/token`; present with that subresource. */
  readonly tokenRequest?: Resource
  /** The Warning that every use of this version brings. */
  readonly deprecation?: string
  readonly strategy: Strategy
  /** Answers a create, the only verb: returns the status, and nothing is stored. */
  readonly review?: Review
  /** Whether a CustomResourceDefinition declares it: then there is no strategic merge patch. */
  readonly isCustom?: boolean
  /** Whether its definition is being deleted: remaining objects can be read and deleted. */
  readonly isTerminating?: boolean
  /** The place and form of objects in the store; absent: under their plural, in this version. */
  readonly storage?: ResourceStorage
}

export type Review = (question: Question) => JsonObject | Promise<JsonObject>

/** The context of a create of a kind that is answered and never stored. */
interface Question {
  readonly user: User
  readonly document: ApiDocument
}

/** Versions of one kind that name the same prefix are views of the same objects. */
interface ResourceStorage {
  /** The part of every key after `/registry/`: `servicecidrs`, `example.com/widgets`. */
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

/** The rules of a kind for the verbs. All members are pure, except that `admit` and `coWrites` read the store. */
export interface Strategy {
  /** The rule for `metadata.name`; absent means a DNS subdomain. */
  readonly validateName?: (name: string) => string | undefined
  /** Whether a finalizer may lack a domain before its name. */
  readonly takesAnyFinalizer?: boolean
  /** Returns how long a deleted object stays so that a controller can stop what it represents; absent: not at all. */
  readonly graceSeconds?: (document: ApiDocument, asked: number | undefined) => number
  /** Whether a create may include the status. */
  readonly keepsStatusOnCreate?: boolean
  /** Returns the answer of a delete once the object is gone; absent: a Status. */
  readonly showDeleted?: (document: ApiDocument, now: Date) => ApiDocument
  /** Something beside its `metadata.finalizers` keeps a deleted object. */
  readonly isHeld?: (document: ApiDocument) => boolean
  /**
   * What of the metadata a write of the status leaves alone, as Kubernetes has it for the kind; absent: nothing, so that a load balancer
   * can set its finalizer and its annotations together with the status.
   */
  readonly statusLeaves?: 'metadata' | readonly string[]
  /** Whether a PUT of an object that does not exist creates it. */
  readonly createsOnUpdate?: boolean
  /** The PUTs that must name a resourceVersion: of the object and its status, or of the object alone. */
  readonly needsRevision?: 'object-and-status' | 'object'
  readonly prepareForCreate?: (document: ApiDocument) => ApiDocument
  /** Completes a new object before validation; fields that are added here have no manager. Rejects with a Status. */
  readonly admit?: (document: ApiDocument, admission: Admission) => Promise<ApiDocument>
  readonly prepareForUpdate?: (document: ApiDocument, old: ApiDocument) => ApiDocument
  /** A create has no `old`. With it, a kind can let stand what was valid when it was stored. */
  readonly validate?: (document: ApiDocument, old: ApiDocument | undefined) => readonly FieldError[]
  /** Checks an update of the status, in addition to `validate`; errors that were there before stay allowed. */
  readonly validateStatus?: (document: ApiDocument, old: ApiDocument) => readonly FieldError[]
  /** Returns warnings about accepted but surprising fields; they become Warning headers. */
  readonly warnings?: (document: ApiDocument) => readonly string[]
  readonly validateUpdate?: (document: ApiDocument, old: ApiDocument) => readonly FieldError[]
  /** Checks a document against the rules of its definition; an update has the stored document. */
  readonly checkRules?: (document: ApiDocument, old: ApiDocument | undefined) => Promise<readonly FieldError[]>
  /** Returns further writes for the same commit: allocations with the Service, contents with the Namespace. */
  readonly coWrites?: (transition: Transition) => Promise<CoWrites>
}

/** The facts about the request that admission needs for a new object. */
export interface Admission {
  readonly namespace: string
  /** The name of the object in errors: its name, or its name prefix. */
  readonly name: string
  /** Returns a unique name with this beginning. */
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
  /** The reasons against the change: they become a 422. */
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
