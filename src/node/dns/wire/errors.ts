import { PlatnetError } from '../../../model/errors.ts'

type DnsFormatCode = 'short' | 'label' | 'pointer' | 'name-too-long' | 'rdata' | 'text'

/** A message, name or record that breaks the format: `short` ends too early, `text` is a name or record in presentation form. */
export class DnsFormatError extends PlatnetError<DnsFormatCode> {}
