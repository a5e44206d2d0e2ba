import type { DialectName } from '../../model/dialect.ts'
import type { Span } from '../../observe/index.ts'
import type { Attributes } from '../access/attributes.ts'
import type { TokenIssuer } from '../access/token-issuer.ts'
import type { AdmissionSteps } from '../admission/admission-request.ts'
import type { YamlReader } from '../decode/yaml-body.ts'
import type { User } from '../identity.ts'
import type { Admit } from '../request/request.ts'
import type { Registry } from '../resources/registry.ts'
import type { Store } from '../store/index.ts'
import type { Aside } from '../store/wait-for-revision.ts'

/** The dependencies of the verbs, including the clock and the random generator. */
export interface VerbContext {
  readonly store: Store
  readonly registry: Registry
  readonly dialect: DialectName
  readonly now: () => Date
  readonly newUid: () => string
  /** Returns a random integer at least 0 and below the limit. */
  readonly pickBelow: (limit: number) => number
  readonly tokenIssuer: TokenIssuer
  readonly readYaml: YamlReader
  /** The size limit of a stored object; a larger write gets a 413. */
  readonly maxObjectBytes: number
  /** The size limit of all objects; growth of a namespace beyond the free space gets a 403. */
  readonly maxStoreBytes: number
  /** The user; absent: the server itself. */
  readonly user?: User
  readonly admit?: Admit
  /** The steps of admission by policies and webhooks; absent where the server itself writes. */
  readonly admission?: AdmissionSteps | undefined
  /** Checks whether the user may do something else as well. */
  readonly may?: (attributes: Attributes) => boolean
  /** How the request waits for a revision; absent: without limits on the number of waits. */
  readonly aside?: Aside
  /** Sends a warning to the client; absent where the request cannot show one. */
  readonly warn?: (text: string) => void
  /** The request in the trace; absent: not traced. */
  readonly span?: Span
}
