import type { DialectName } from '../../model/dialect.ts'
import type { Attributes } from '../access/attributes.ts'
import type { TokenIssuer } from '../access/token-issuer.ts'
import type { YamlReader } from '../decode/yaml-body.ts'
import type { User } from '../identity.ts'
import type { Admit } from '../request/request.ts'
import type { Registry } from '../resources/registry.ts'
import type { Store } from '../store/index.ts'
import type { Aside } from '../store/wait-for-revision.ts'

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
