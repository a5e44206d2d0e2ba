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
