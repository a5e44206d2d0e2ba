import { readCorefile } from '../../src/node/dns/configuration/read-corefile.ts'
import type { ServerBlock } from '../../src/node/dns/plugins/server-block.ts'
import type { DnsMessage } from '../../src/node/dns/wire/message.ts'
import type { Query } from '../../src/node/dns/wire/query.ts'
import type { DnsRecord } from '../../src/node/dns/wire/record.ts'
import { parseRecordText } from '../../src/node/dns/wire/record-text.ts'
import type { Reply } from '../../src/node/dns/wire/response.ts'
import { makeQuery, parsedQuery } from './dns-messages.ts'
import { messageLine } from './dns-zone.ts'

/** The only block of a Corefile for the root zone. */
export function blockWith(directives: string): ServerBlock {
  const sources = { files: () => [], environment: () => undefined }
  const [block] = readCorefile({ path: 'Corefile', text: `. {\n${directives}\n}` }, sources).blocks
  if (block === undefined) throw new Error('no block')
  return block
}

export function ask(name: string, type: number, recordClass = 1): Query {
  return parsedQuery(makeQuery(name, type, { class: recordClass }))
}

export function records(...texts: readonly string[]): readonly DnsRecord[] {
  return texts.map((text) => parseRecordText(text, 60))
}

/** An upstream's or another plugin's answer with these records. */
export function answerOf(...texts: readonly string[]): DnsMessage {
  return {
    id: 1,
    flags: 0x8180,
    rcode: 0,
    question: undefined,
    answer: records(...texts),
    authority: [],
    additional: [],
    edns: undefined,
  }
}

/** In one line, `next` where there is none. */
export function replyLine(reply: Reply | undefined): string {
  if (reply === undefined) return 'next'
  return messageLine({ ...answerOf(), ...reply, flags: reply.flags })
}
