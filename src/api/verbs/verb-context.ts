import type { DialectName } from '../../model/dialect.ts'
import type { Attributes } from '../access/attributes.ts'
import type { User } from '../access/authenticate.ts'
import type { TokenIssuer } from '../access/token-issuer.ts'
import type { YamlReader } from '../decode/yaml-body.ts'
import type { Registry } from '../resources/registry.ts'
import type { Resource, Subresource, Transition } from '../resources/resource.ts'
import type { Store } from '../store/index.ts'
import type { FieldCheck } from './field-validation.ts'
import type { Aside } from './wait-for-revision.ts'

/** What the verbs work with; clock and chance are passed in. */
export interface VerbContext {
  readonly store: Store
  readonly registry: Registry
  readonly dialect: DialectName
  readonly now: () => Date
  readonly newUid: () => string
  /** A random integer at least 0 and below the limit. */
  readonly pickBelow: (limit: number) => number
  readonly tokenIssuer: TokenIssuer
  readonly readYaml: YamlReader
  /** Of an object as it is stored; a write beyond it is a 413. */
  readonly maxObjectBytes: number
  /** Of all objects; a namespace that grows beyond what is left of it is a 403. */
  readonly maxStoreBytes: number
  /** Absent: the server itself. */
  readonly user?: User
  readonly admit?: Admit
  /** Whether the user may do that beside. */
  readonly may?: (attributes: Attributes) => boolean
  /** How the request waits for a revision; absent: as it is. */
  readonly aside?: Aside
  /** Tells the client something that is no error; absent: nobody listens. */
  readonly warn?: (text: string) => void
}

/** Rejects with a Status where the user may not make that change of an object. */
export type Admit = (change: Transition & { readonly target: Target; readonly name: string }) => Promise<void>

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
