import type { Json, JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import type { User } from '../identity.ts'
import type { FieldError } from '../schema/field-error.ts'
import type { Schema } from '../schema/schema.ts'
import type { StoreWrite } from '../store/index.ts'
import type { Aside } from '../store/wait-for-revision.ts'

export type Subresource =
  | 'status'
  | 'approval'
  | 'scale'
  | 'binding'
  | 'eviction'
  | 'finalize'
  | 'token'
  | 'ephemeralcontainers'
  | 'resize'

/** A subresource that connects the client with a pod, a Service or a node. */
export type ConnectSubresource = 'attach' | 'exec' | 'log' | 'portforward' | 'proxy'

/** One kind in one served version. To add a kind, add a Resource to the registry. */
export interface Resource {
  /** The API group; `""` is the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  /** The kind of its list; absent: its kind followed by `List`. */
  readonly listKind?: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  /** Whether clients prefer its version in its group; otherwise the most stable and newest is preferred. */
  readonly isPreferred?: boolean
  /** Whether a collection cannot be deleted at once. */
  readonly deletesOneByOne?: boolean
  readonly subresources: readonly Subresource[]
  /** Absent: none. */
  readonly connects?: readonly ConnectSubresource[]
  readonly schema: Schema
  /** Whether `metadata.generation` counts the changes outside metadata and status. */
  readonly countsGeneration: boolean
  /** Returns the text of each field that selectors may name, beside `metadata.name` and `metadata.namespace`. */
  readonly selectableFields: Readonly<Record<string, (document: ApiDocument) => string>>
  /** The columns of a Table between NAME and AGE. */
  readonly columns: readonly Column[]
  /** The text of a Table under NAME; absent: the name. */
  readonly nameCell?: (document: ApiDocument) => string
  /** Whether a Table shows no AGE. */
  readonly hidesAge?: boolean
  /** The annotation with the StorageClass of old claims, by which quotas count; absent for other kinds. */
  readonly classAnnotation?: string
  /** Whether a Table begins with the kind's own columns; the name is then a wide column. */
  readonly hidesName?: boolean
  /** The paths of the replica counts of `/scale`; present with that subresource. */
  readonly scale?: ScalePaths
  /** The kind of the request and the response of `/token`; present with that subresource. */
  readonly tokenRequest?: Resource
  /** The Warning that every use of this version returns. */
  readonly deprecation?: string
  readonly strategy: Strategy
  /** Answers a create, the only verb: returns the status, and stores nothing. */
  readonly review?: Review
  /** Computes the objects; they are not stored, and the kind can only be read. */
  readonly computed?: Computed
  /** Whether a CustomResourceDefinition declares the kind; it then accepts no strategic merge patch. */
  readonly isCustom?: boolean
  /** Whether its definition is being deleted: remaining objects can only be read and deleted. */
  readonly isTerminating?: boolean
  /** The place and form of objects in the store; absent: under their plural, in this version. */
  readonly storage?: ResourceStorage
}

/** Returns the objects of a place: the one of that name, those of the namespace, or all. Their apiVersion may be empty. */
export type Computed = (place: {
  readonly namespace: string | undefined
  readonly name: string | undefined
}) => Promise<readonly ApiDocument[]>

export type Review = (question: Question) => JsonObject | Promise<JsonObject>

/** The context of a create of a kind that is never stored. */
interface Question {
  readonly user: User
  readonly document: ApiDocument
}

/** The storage of a kind. Versions with one prefix are views of the same objects. */
interface ResourceStorage {
  /** The part of every key after `/registry/`: `servicecidrs`, `example.com/widgets`. */
  readonly prefix: string
  /** The apiVersion under which objects are stored. */
  readonly apiVersion: string
  /** The conversion to and from the stored version; absent: only apiVersion differs. */
  readonly conversion?: Conversion
}

/** Converts between two versions. Pure; the caller sets apiVersion. */
interface Conversion {
  readonly toStored: (document: ApiDocument) => ApiDocument
  readonly fromStored: (document: ApiDocument) => ApiDocument
}

/** The field names on the path to a value: `['spec', 'replicas']`. */
export type FieldPath = readonly string[]

export interface ScalePaths {
  readonly specReplicas: FieldPath
  readonly statusReplicas: FieldPath
  /** The path of the selector as one text; for a built-in kind, of the selector itself. */
  readonly labelSelector?: FieldPath
  /** Whether that selector is a map of labels, without `matchLabels`. */
  readonly isLabelMap?: true
}

export interface Column {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  readonly description?: string
  /** `name` for the name of another object. */
  readonly format?: 'name'
  /** The priority of a column: 0 is always shown, a higher one only by `-o wide`. */
  readonly priority: number
  readonly cell: (document: ApiDocument, now: Date) => Json
}

/** The rules of a kind for the verbs. All members are pure, except that `admit`, `guard` and `coWrites` read the store. */
export interface Strategy {
  /** The rule for `metadata.name`; absent means a DNS subdomain. */
  readonly validateName?: (name: string) => string | undefined
  /** Whether a finalizer may lack a domain before its name. */
  readonly takesAnyFinalizer?: boolean
  /** Returns how long a deleted object stays so that a controller can stop what it represents; absent: not at all. */
  readonly graceSeconds?: (document: ApiDocument, asked: number | undefined) => number
  /** Whether a delete that names no propagation policy leaves the dependents. */
  readonly orphansByDefault?: boolean
  /** Whether a create may include the status. */
  readonly keepsStatusOnCreate?: boolean
  /** Returns the answer of a delete once the object is gone; absent: a Status. */
  readonly showDeleted?: (document: ApiDocument, now: Date) => ApiDocument
  /** Checks whether something beside `metadata.finalizers` keeps a deleted object. */
  readonly isHeld?: (document: ApiDocument) => boolean
  /**
   * The metadata that a write of the status does not change, as in Kubernetes for the kind. Absent: none, so that a
   * load balancer can set its finalizer and annotations together with the status.
   */
  readonly statusLeaves?: 'metadata' | readonly string[]
  /** Whether a PUT of an object that does not exist creates it. */
  readonly createsOnUpdate?: boolean
  /** The PUTs that must name a resourceVersion: of the object and its status, or of the object alone. */
  readonly needsRevision?: 'object-and-status' | 'object'
  readonly prepareForCreate?: (document: ApiDocument) => ApiDocument
  /** Completes a new object before validation; fields that are added here have no manager. Rejects with a Status. */
  readonly admit?: (document: ApiDocument, admission: Admission) => Promise<ApiDocument>
  /** Checks a valid create or update against other objects. Rejects with a Status. */
  readonly guard?: (transition: Transition) => Promise<void>
  readonly prepareForUpdate?: (document: ApiDocument, old: ApiDocument) => ApiDocument
  /** Completes a write of the status, by `/status` or `/approval`, before it is checked. */
  readonly prepareStatus?: (document: ApiDocument, old: ApiDocument, subresource: Subresource) => ApiDocument
  /** Returns the errors of a document; a create has no `old`. A kind can accept what was valid when it was stored. */
  readonly validate?: (document: ApiDocument, old: ApiDocument | undefined) => readonly FieldError[]
  /** The subresources that are a part of the spec, which only they write. */
  readonly parts?: Readonly<Partial<Record<Subresource, PartWrite>>>
  /** Checks an update of the status, in addition to `validate`; errors that were there before stay allowed. */
  readonly validateStatus?: (document: ApiDocument, old: ApiDocument) => readonly FieldError[]
  /** Returns warnings about accepted but surprising fields; they become Warning headers. */
  readonly warnings?: (document: ApiDocument) => readonly string[]
  readonly validateUpdate?: (document: ApiDocument, old: ApiDocument) => readonly FieldError[]
  /**
   * Checks a document against the rules of its definition, or what takes time to check; an update has the stored
   * document.
   */
  readonly checkRules?: (document: ApiDocument, old: ApiDocument | undefined) => Promise<readonly FieldError[]>
  /** Returns further writes for the same commit: allocations with the Service, contents with the Namespace. */
  readonly coWrites?: (transition: Transition) => Promise<CoWrites>
}

/** A write of a part of an object by a subresource. */
export interface PartWrite {
  /** Completes the revised object of that namespace before the merge. */
  readonly admit?: ((revised: ApiDocument, namespace: string) => Promise<ApiDocument>) | undefined
  /** Returns the stored object with the part of the revised one. */
  readonly merge: (revised: ApiDocument, old: ApiDocument) => ApiDocument
  /** Checks what has changed, in the place of the rules for an update of the object. */
  readonly validateUpdate: NonNullable<Strategy['validateUpdate']>
}

/** The facts about the request that admission needs for a new object. */
export interface Admission {
  readonly namespace: string
  /** The name of the object in errors: its name, or its name prefix. */
  readonly name: string
  /** The caller; absent: the server itself. */
  readonly user?: User | undefined
  /** Returns a unique name with this beginning. */
  readonly newName: (base: string) => string
  /** Waits for another object. */
  readonly aside: Aside
}

/** A change of one object. A create has no `old`, a delete no `next`. */
export interface Transition {
  readonly old: ApiDocument | undefined
  readonly next: ApiDocument | undefined
}

export interface CoWrites {
  /** The document `next` with the allocated values; absent where nothing changes. */
  readonly next?: ApiDocument
  readonly writes: readonly StoreWrite[]
  /** The reasons against the change: they become a 422. */
  readonly errors: readonly FieldError[]
}

export function listKindOf({ kind, listKind }: Pick<Resource, 'kind' | 'listKind'>): string {
  return listKind ?? `${kind}List`
}

/** Returns `v1` or, for a named group, `discovery.k8s.io/v1`. */
export function apiVersionOf(resource: { readonly group: string; readonly version: string }): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
}

export function column(name: string, cell: Column['cell'], options: { wide?: true } = {}): Column {
  return { name, type: 'string', priority: options.wide === true ? 1 : 0, cell }
}
