import type { Json } from '../../model/api-object.ts'
import type { Resource, Subresource, Transition } from '../resources/resource.ts'

/** The object or collection of a request. */
export interface Target {
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: Subresource | undefined
}

export interface ItemTarget extends Target {
  readonly name: string
}

export interface CommitOptions {
  /** Whether the request is checked in full and nothing is written. */
  readonly dryRun: boolean
}

export interface WriteOptions extends CommitOptions {
  /** The field manager that `metadata.managedFields` names for the written fields. */
  readonly manager: string
  /** The check of fields; without one, unknown and duplicate fields are dropped silently. */
  readonly fieldCheck?: FieldCheck
  /** The options as the client gave them, which admission sees. */
  readonly given?: { readonly fieldManager: string; readonly fieldValidation: string }
  /** Whether the managed fields of the document are already computed. */
  readonly isApply?: boolean
}

/** The answer of a verb, before it is encoded in the form that the client accepts. */
export type Answer =
  | {
      readonly kind: 'object'
      readonly httpCode: number
      readonly resource: Resource
      readonly text: string
      /** Warnings for the client. */
      readonly warnings?: readonly string[]
    }
  | {
      readonly kind: 'list'
      readonly resource: Resource
      readonly revision: number
      readonly continueToken: string | undefined
      /** The number of items after this page, where it is known. */
      readonly remainingItemCount: number | undefined
      /** Each item as JSON text, made on request: a list of any length never takes one long turn of the event loop. */
      readonly items: Iterable<string>
      /** Whether the texts together are long. */
      readonly isLong: boolean
    }
  /** A document that is neither object nor list: Status, discovery. */
  | { readonly kind: 'document'; readonly httpCode: number; readonly text: string }

/** Checks a change of an object; rejects with a Status where the user may not make it. */
export type Admit = (change: Transition & { readonly target: Target; readonly name: string }) => Promise<void>

/** The handling of undeclared and duplicate fields: dropped silently, with a warning, or refused. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

/** The field check of a request, and the receiver of its warnings. */
export interface FieldCheck {
  readonly validation: FieldValidation
  readonly warn: (text: string) => void
}

/** A change of the stored object, in one of the supported forms, one member each. */
export interface Patch {
  readonly type: 'merge' | 'strategic' | 'json'
  readonly value: Json
  readonly problems: FieldProblems
}

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground'

export interface DeletionWish {
  /** The grace period; without one, the kind's default. */
  readonly gracePeriodSeconds?: number | undefined
  /** The propagation policy for dependents; absent leaves the finalizers unchanged. */
  readonly propagationPolicy?: PropagationPolicy | undefined
}

export interface DeleteOptions extends CommitOptions, DeletionWish {
  /** Whether the response for an object that is kept is a 202: the form of the request promises it. */
  readonly answersAccepted?: boolean
  readonly preconditions: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
}

export interface ApplyOptions extends WriteOptions {
  /** Whether the apply takes over fields of other managers instead of a 409. */
  readonly force: boolean
}

/** The field errors of a body, as texts. */
export interface FieldProblems {
  /** Returns the duplicate fields of the body; at most 100. */
  readonly findDuplicates: () => readonly string[]
  /**
   * Returns the duplicate fields, and between them the fields of these paths as unknown ones, in the order of the text; absent where that
   * order is not available.
   */
  readonly findInOrder?: (unknown: readonly string[]) => readonly string[]
  /** Whether the duplicates are errors of a YAML parser, which name lines. */
  readonly isYaml?: boolean
}
