import type { JsonObject } from '../../model/api-object.ts'
import type { Span } from '../../observe/index.ts'
import type { ApiDocument } from '../document.ts'
import type { User } from '../identity.ts'
import type { Resource } from '../resources/resource.ts'

export type Operation = 'CONNECT' | 'CREATE' | 'DELETE' | 'UPDATE'

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** A request as admission sees it: the attributes of kube-apiserver's admission plugins. */
export interface AdmissionRequest {
  readonly operation: Operation
  /** The resource of the URL. */
  readonly resource: Resource
  /** The subresource of the URL; `""` for the object itself. */
  readonly subresource: string
  /** The kind of `object` and `oldObject`: that of the resource, or of the body of a subresource (Scale, Eviction, …). */
  readonly kind: GroupVersionKind
  /** The namespace; of a Namespace its own name; `""` for other objects of the cluster. */
  readonly namespace: string
  /** The name of the object; `""` where the server generates it, and for each object of a deleted collection. */
  readonly name: string
  /** The object as the client wants it; undefined for a delete. */
  readonly object: ApiDocument | undefined
  /** The stored object with its resourceVersion; undefined for a create and a connection. */
  readonly oldObject: ApiDocument | undefined
  /** CreateOptions, UpdateOptions or DeleteOptions (meta.k8s.io/v1); undefined for a connection. */
  readonly options: JsonObject | undefined
  readonly isDryRun: boolean
  readonly user: User
}

/** The actions of a step of admission beside its verdict. */
export interface AdmissionCall {
  /** Sends a warning to the client. */
  readonly warn: (text: string) => void
  /** The request in the trace; absent: not traced. */
  readonly span?: Span | undefined
}

/**
 * A step that changes objects before they are validated. Returns the object, which may be the given one; rejects with a
 * Status. For a delete and a connection the result is ignored.
 */
export interface MutatingStep {
  /** Whether anything is configured; where it returns false the step costs nothing. */
  readonly isActive: () => boolean
  readonly mutate: (request: AdmissionRequest, call: AdmissionCall) => Promise<ApiDocument | undefined>
}

/** A step that accepts or refuses (rejects with a Status) a request after validation and before the commit. */
export interface ValidatingStep {
  readonly isActive: () => boolean
  readonly validate: (request: AdmissionRequest, call: AdmissionCall) => Promise<void>
}

/** The steps of a server, in the order in which they run. */
export interface AdmissionSteps {
  readonly mutating: readonly MutatingStep[]
  readonly validating: readonly ValidatingStep[]
}
