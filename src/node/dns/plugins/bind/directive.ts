import { parseIp } from '../../../../model/ip.ts'
import type { Directive } from '../../corefile/blocks.ts'
import type { Token } from '../../corefile/lexer.ts'
import { badValue, readManyArgs, readOptions } from '../../corefile/values.ts'

export interface BindSettings {
  /** Addresses or names of links. */
  readonly addresses: readonly string[]
  readonly except: readonly string[]
}

/** Reads `bind ADDRESS|LINK … { except ADDRESS|LINK … }`. */
export function readBind(directive: Directive): BindSettings {
  const { except } = readOptions<Pick<BindSettings, 'except'>>(
    directive,
    { except: [] },
    { except: { list: 'except', read: (option) => readManyArgs(option).map(readAddressOrLink) } },
  )
  return { addresses: readManyArgs(directive).map(readAddressOrLink), except }
}

/** The name of a link has at most 15 bytes, and neither slash nor blank. */
function readAddressOrLink(token: Token): string {
  if (parseIp(token.text) === undefined && !/^[^\s/:]{1,15}$/.test(token.text)) {
    throw badValue(token, 'an address or the name of a link')
  }
  return token.text
}
