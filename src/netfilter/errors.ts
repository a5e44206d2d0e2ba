import { PlatnetError } from '../model/errors.ts'

type NetfilterErrorCode =
  | 'bad-chain-name'
  | 'bad-interface-name'
  | 'protocol-conflict'
  | 'too-many-ports'
  | 'bad-set-name'
  | 'bad-set-element'
  | 'unknown-set'

/** A rule that must not become text. Our own code builds all rules, so this always means a bug in it. */
export class NetfilterError extends PlatnetError<NetfilterErrorCode> {}

/** An element of a set of nftables that must not become text: of ours it is a bug, of others in the kernel a form that is not known. */
export class BadElementError extends NetfilterError {
  readonly set: string
  /** The key of the element. */
  readonly key: string

  constructor(set: string, key: string, remedy: string) {
    super('bad-set-element', `${JSON.stringify(key)} is no element of set ${set}`, { remedy })
    this.set = set
    this.key = key
  }
}
