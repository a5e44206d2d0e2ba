import type { Json } from '../../model/api-object.ts'
import type { Resource, Subresource, Transition } from '../resources/resource.ts'

/** Which object or collection a request is about. */
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
  /** Everything is checked and nothing is written. */
  readonly dryRun: boolean
}

export interface WriteOptions extends CommitOptions {
  /** Whose fields `metadata.managedFields` says the written ones are. */
  readonly manager: string
  /** Absent: unknown and duplicate fields are dropped in silence. */
  readonly fieldCheck?: FieldCheck
  /** The document comes with its managed fields worked out. */
  readonly isApply?: boolean
}

/** What a verb answers, before it is put into the form the client accepts. */
export type Answer =
  | {
      readonly kind: 'object'
      readonly httpCode: number
      readonly resource: Resource
      readonly text: string
      /** What the client should be told beside. */
      readonly warnings?: readonly string[]
    }
  | {
      readonly kind: 'list'
      readonly resource: Resource
      readonly revision: number
      readonly continueToken: string | undefined
      /** Items after this page, where that is known. */
      readonly remainingItemCount: number | undefined
      /** Each item as JSON text, made as it is asked for: a list of any length costs no turn of the main loop as a whole. */
      readonly items: Iterable<string>
      /** Whether the texts are long together. */
      readonly isLong: boolean
    }
  /** A document that is neither: Status, discovery. */
  | { readonly kind: 'document'; readonly httpCode: number; readonly text: string }

/** Rejects with a Status where the user may not make that change of an object. */
export type Admit = (change: Transition & { readonly target: Target; readonly name: string }) => Promise<void>

/** What happens to fields that a kind does not declare and to fields that stand twice: dropped in silence, with a warning, or refused. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

/** How a request wants its fields checked, and where warnings go. */
export interface FieldCheck {
  readonly validation: FieldValidation
  readonly warn: (text: string) => void
}

/** A change to what is stored, in one of the forms that are understood; further forms are further members. */
export interface Patch {
  readonly type: 'merge' | 'strategic' | 'json'
  readonly value: Json
  readonly problems: FieldProblems
}

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground'

export interface DeletionWish {
  /** Absent: what the kind itself says. */
  readonly gracePeriodSeconds?: number | undefined
  /** What becomes of the object's dependents; absent leaves the finalizers as they are. */
  readonly propagationPolicy?: PropagationPolicy | undefined
}

export interface DeleteOptions extends CommitOptions, DeletionWish {
  /** 202 for an object that is kept: the client asked in the way that promises it. */
  readonly answersAccepted?: boolean
  readonly preconditions: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
}

export interface ApplyOptions extends WriteOptions {
  /** Takes fields that others own over, instead of answering a 409. */
  readonly force: boolean
}

/** What is wrong with the fields of a body, in the words of an error. */
export interface FieldProblems {
  /** Fields that stand twice in their object; at most 100. */
  readonly findDuplicates: () => readonly string[]
  /**
   * The same, and between them the fields of these paths as unknown ones, in the order of the text; absent where that order cannot be
   * had.
   */
  readonly findInOrder?: (unknown: readonly string[]) => readonly string[]
  /** The duplicates are the words of a YAML reader, which tells lines. */
  readonly isYaml?: boolean
}
