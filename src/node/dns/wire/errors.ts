import { PlatnetError } from '../../../model/errors.ts'

type DnsFormatCode = 'short' | 'label' | 'pointer' | 'name-too-long' | 'rdata' | 'text'

/** A message, name or record breaks the format. `short`: it ends too early; `text`: its presentation form cannot be read. */
export class DnsFormatError extends PlatnetError<DnsFormatCode> {}
